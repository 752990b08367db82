import ExampleServer
import Foundation
import Pictures
import Synchronization

/// Draws and serves pictures: the halves have different colours, and the sun shines.
///
/// One picture is missing, one file is no picture, and the first request for one picture fails.
final class Gallery: Sendable {
    let count: Int
    private let hasFailed = Atomic(false)

    init(count: Int) { self.count = count }

    var missing: Int { count / 2 }
    var damaged: Int { count - 2 }
    private var flaky: Int { 1 }

    static func path(_ index: Int) -> String { "/picture-\(index).png" }

    /// Starts the server.
    ///
    /// - Parameter hold: called before each answer, with the number of the picture.
    func serve(hold: @escaping @Sendable (Int) async -> Void = { _ in }) async throws -> ExampleServer {
        try await ExampleServer.start { [self] request in
            guard let index = (0..<count).first(where: { Self.path($0) == request.path }), index != missing else {
                return ExampleServer.Response(404)
            }
            await hold(index)
            try? await Task.sleep(for: .milliseconds(20 + index * 37 % 60))
            if index == flaky, !hasFailed.exchange(true, ordering: .relaxed) { return ExampleServer.Response(503) }
            if index == damaged { return ExampleServer.Response(200, body: Array("this is no picture".utf8)) }
            guard let png = try? Self.draw(index).png() else { return ExampleServer.Response(500) }
            return ExampleServer.Response(200, headers: ["Content-Type": "image/png"], body: png)
        }
    }

    static func colors(_ index: Int) -> (left: Picture.Color, right: Picture.Color) {
        let turn = UInt8(truncatingIfNeeded: index * 47)
        return (Picture.Color(turn, 255 - turn, 120), Picture.Color(240 - turn / 2, 60, turn))
    }

    /// Draws landscape and portrait pictures in turn.
    static func draw(_ index: Int) -> Picture {
        let (width, height) = index.isMultiple(of: 2) ? (320, 240) : (180, 240)
        let colors = colors(index)
        var picture = Picture(width: width, height: height, color: colors.left)
        picture.draw(Picture(width: width / 2, height: height, color: colors.right), x: width / 2, y: 0)
        drawSun(on: &picture)
        return picture
    }

    /// Draws the sun above the middle, because the inspection of the sheet reads the middle.
    private static func drawSun(on picture: inout Picture) {
        let (center, radius) = ((x: picture.width / 3, y: picture.height / 4), picture.height / 8)
        for y in center.y - radius...center.y + radius {
            for x in center.x - radius...center.x + radius {
                let (right, down) = (x - center.x, y - center.y)
                if right * right + down * down <= radius * radius { picture[x, y] = Picture.Color(255, 224, 130) }
            }
        }
    }
}
