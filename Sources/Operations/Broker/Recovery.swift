/// That an operation came back from a worker that was lost while it ran it.
package struct Recovery: Sendable, Equatable {
    /// Why the worker counts as lost.
    package enum Cause: String, Sendable {
        /// Its lease ran out: it was frozen, cut off, or dead.
        case lease
        /// Its supervisor has seen its process end.
        case process

        package var sentence: String {
            switch self {
            case .lease: "its lease ran out"
            case .process: "its process has ended"
            }
        }
    }

    /// Milliseconds of server time, as `startedAt`, the start of the run that was lost.
    package var at: Int64
    package var startedAt: Int64
    package var attempt: Int
    package var delivery: Int
    package var cause: Cause
    /// The worker's id.
    package var worker: String
    /// As the worker said them; empty = unknown, or with a character that JSON escapes.
    package var name = ""
    package var host = ""

    /// So many of an operation are kept.
    package static let kept = 10
    /// So many bytes of name and host are kept.
    package static let textBytes = 99

    package init(at: Int64, startedAt: Int64, attempt: Int, delivery: Int, cause: Cause, worker: String) {
        self.at = at
        self.startedAt = startedAt
        self.attempt = attempt
        self.delivery = delivery
        self.cause = cause
        self.worker = worker
    }

    /// A name or host as it is kept.
    package static func text(_ text: String?) -> String {
        guard let text, !text.utf8.contains(where: { $0 < 0x20 || #""\/"#.utf8.contains($0) }) else { return "" }
        return String(decoding: text.utf8.prefix(textBytes), as: UTF8.self)
    }

    /// `web-1 on host-3`, or the id of a worker that has said nothing.
    package var place: String {
        name.isEmpty ? worker : host.isEmpty ? name : "\(name) on \(host)"
    }
}
