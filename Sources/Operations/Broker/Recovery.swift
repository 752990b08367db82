/// The recovery of an operation from a worker that was lost while it ran the operation.
package struct Recovery: Sendable, Equatable {
    /// Why the worker counts as lost.
    package enum Cause: String, Sendable {
        /// The lease lapsed: the worker was frozen, cut off, or dead.
        case lease
        /// The supervisor saw the worker's process end.
        case process

        package var sentence: String {
            switch self {
            case .lease: "the lease of the worker ran out"
            case .process: "the process of the worker ended"
            }
        }
    }

    /// The times of the recovery and of the lost run's start (`startedAt`), in milliseconds of server time.
    package var at: Int64
    package var startedAt: Int64
    package var attempt: Int
    package var delivery: Int
    package var cause: Cause
    /// The worker's id.
    package var worker: String
    /// The worker's name and host, as it reported them; empty = unknown, or with a character that JSON escapes.
    package var name = ""
    package var host = ""

    /// The most recoveries that an operation keeps.
    package static let kept = 10
    /// The most bytes of a name or a host.
    package static let textBytes = 99

    package init(at: Int64, startedAt: Int64, attempt: Int, delivery: Int, cause: Cause, worker: String) {
        self.at = at
        self.startedAt = startedAt
        self.attempt = attempt
        self.delivery = delivery
        self.cause = cause
        self.worker = worker
    }

    /// Returns a name or host as it is stored.
    package static func text(_ text: String?) -> String {
        guard let text, !text.utf8.contains(where: { $0 < 0x20 || #""\/"#.utf8.contains($0) }) else { return "" }
        return String(decoding: text.utf8.prefix(textBytes), as: UTF8.self)
    }

    /// `web-1 on host-3`, or the id of a worker without a known name.
    package var place: String {
        name.isEmpty ? worker : host.isEmpty ? name : "\(name) on \(host)"
    }
}
