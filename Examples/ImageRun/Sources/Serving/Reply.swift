import Foundation

/// A complete answer before it is sent.
struct Reply: Hashable {
    /// One piece of the body and the pause after it.
    struct Piece: Hashable {
        let range: Range<Int>
        let pauseMilliseconds: Int64
    }

    var status: Int
    var contentType = "text/plain"
    var body: Data
    /// Whether only the head is sent.
    var isHeadOnly = false
    var delayMilliseconds: Int64 = 0
    var durationMilliseconds: Int64 = 0
    /// The number of bytes of the body after which the connection is closed; `nil` = never.
    var cutAfter: Int?

    private static let pauseMilliseconds: Int64 = 50
    private static let pieceBytes = 65_536

    /// Makes the answer to a request.
    ///
    /// - Parameter earlierRequests: the number of earlier requests for this path.
    init(method: String, target: Site.Target?, site: Site, earlierRequests: Int) {
        isHeadOnly = method == "HEAD"
        guard method == "GET" || isHeadOnly else {
            (status, body) = (405, Data("only GET and HEAD\n".utf8))
            return
        }
        guard let target, let contents = site.contents(of: target) else {
            (status, body) = (404, Data("not found\n".utf8))
            return
        }
        let failure = target.behavior.failure(after: earlierRequests)
        delayMilliseconds = target.behavior.delayMilliseconds
        if case .status(let code) = failure {
            (status, body) = (code, Data("as planned\n".utf8))
            return
        }
        (status, body, contentType) = (200, contents, "image/png")
        durationMilliseconds = target.behavior.durationMilliseconds
        if failure == .cut { cutAfter = contents.count / 2 }
    }

    /// The pieces in which the body is sent, up to the cut.
    var pieces: [Piece] {
        let end = isHeadOnly ? 0 : cutAfter ?? body.count
        let steps = Int(durationMilliseconds / Self.pauseMilliseconds)
        let size = steps > 0 ? max(1, (body.count + steps - 1) / steps) : Self.pieceBytes
        let pause = steps > 0 ? durationMilliseconds / Int64((body.count + size - 1) / size) : 0
        return stride(from: 0, to: end, by: size).map { start in
            Piece(range: start..<min(start + size, end), pauseMilliseconds: pause)
        }
    }
}
