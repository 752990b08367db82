import Crypto
import Foundation

/// A file of the dashboard that is part of the program. Only these files are served as they are.
struct Asset: Sendable {
    /// The name in links. Changes with the content, so that a browser keeps the file for ever, and is the same in
    /// every copy of the same build.
    let name: String
    let bytes: [UInt8]
    let mediaType: String

    fileprivate init(_ stem: String, _ ending: String, _ mediaType: String, _ bytes: [UInt8]) {
        let hash = SHA256.hash(data: Data(bytes)).prefix(5).map { byte in
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "0" + digits : digits
        }.joined()
        (name, self.bytes, self.mediaType) = ("\(stem).\(hash).\(ending)", bytes, mediaType)
    }

    var entityTag: String { "\"\(name)\"" }

    static let style = Asset("style", "css", "text/css; charset=utf-8", PackageResources.style_css)
    static let script = Asset("dashboard", "js", "text/javascript; charset=utf-8", PackageResources.dashboard_js)
    static let stream = Asset("stream", "js", "text/javascript; charset=utf-8", PackageResources.stream_js)
    static let keys = Asset("keys", "js", "text/javascript; charset=utf-8", PackageResources.keys_js)
    static let icon = Asset("icon", "svg", "image/svg+xml", PackageResources.icon_svg)

    /// The icon while operations are dead.
    static let deadIcon = Asset("dead", "svg", "image/svg+xml", PackageResources.dead_svg)

    static let all = [style, script, stream, keys, icon, deadIcon]
}
