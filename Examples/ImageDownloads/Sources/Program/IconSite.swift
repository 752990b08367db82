import ExampleServer
import Foundation
import Synchronization

/// A slow site with icons. The first request for one icon fails, and the last icon is missing.
final class IconSite: Sendable {
    let icons: Int
    private let hasFailed = Atomic(false)

    init(icons: Int) { self.icons = icons }

    var missing: Int { icons - 1 }
    private var flaky: Int { 2 }

    static func path(_ icon: Int) -> String { "/icon-\(icon).ppm" }

    func serve() async throws -> ExampleServer {
        try await ExampleServer.start { [self] request in
            guard let icon = (0..<icons).first(where: { Self.path($0) == request.path }), icon != missing else {
                return ExampleServer.Response(404)
            }
            // Later icons are often faster, so that icons arrive in another order than requested.
            try? await Task.sleep(for: .milliseconds(40 + icon * 53 % 90))
            if icon == flaky, !hasFailed.exchange(true, ordering: .relaxed) {
                return ExampleServer.Response(503)
            }
            return ExampleServer.Response(200, body: Array(Self.picture(icon)))
        }
    }

    /// Returns a picture of 16 by 16 pixels in one colour.
    static func picture(_ icon: Int) -> Data {
        let color = [UInt8(icon * 67 % 256), UInt8((icon * 41 + 90) % 256), UInt8(255 - icon * 19 % 256)]
        return Data("P6\n16 16\n255\n".utf8) + Data((0..<256).flatMap { _ in color })
    }
}
