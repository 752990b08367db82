/// That an operation came back from a worker that was lost while it ran it.
package struct Recovery: Sendable, Equatable, Codable {
    /// Why the worker counts as lost.
    package enum Cause: String, Sendable, Codable {
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
    /// As the worker said them; empty = unknown.
    package var name: String
    package var host: String

    /// So many of an operation are kept.
    package static let kept = 10
    /// So many bytes of name and host are kept, on one line.
    package static let textBytes = 99

    package init(
        at: Int64,
        startedAt: Int64,
        attempt: Int,
        delivery: Int,
        cause: Cause,
        worker: String,
        info: WorkerInfo?
    ) {
        self.at = at
        self.startedAt = startedAt
        self.attempt = attempt
        self.delivery = delivery
        self.cause = cause
        self.worker = worker
        name = Self.line(info?.name ?? "")
        host = Self.line(info?.host ?? "")
    }

    /// As it is stored.
    package static func line(_ text: String) -> String {
        String(decoding: text.utf8.prefix(textBytes).map { $0 < 0x20 || $0 == 0x7F ? 0x20 : $0 }, as: UTF8.self)
    }

    /// `web-1 on host-3`, or the id of a worker that has said nothing.
    package var place: String {
        name.isEmpty ? worker : host.isEmpty ? name : "\(name) on \(host)"
    }
}
