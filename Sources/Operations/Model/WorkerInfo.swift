import Foundation

/// What a worker says about itself with each heartbeat. Labels for people; nothing is decided by it.
package struct WorkerInfo: Sendable, Codable, Equatable {
    package var host: String
    package var pid: Int
    package var name: String
    package var slots: Int
    package var busy: Int
    /// The first of its queues, at most `queuesNamed`: this goes out with the beat of every queue, so it must not grow with their
    /// number. Its leases tell the others.
    package var queues: [String]
    /// Operation names that it handles.
    package var handles: [String]
    package var version: String
    /// Milliseconds since 1970 by the worker's clock.
    package var startedAt: Int64
    package var finished: Int64
    /// Attempts that failed, also those that another one followed.
    package var failed: Int64
    package var cancelled: Int64
    /// Operations that it could not read.
    package var malformed: Int64
    /// `running`, `quiet` or `draining`.
    package var phase: String
    /// Resident memory in bytes.
    package var residentBytes: Int64
    /// Bodies that were told to end, did not, and were given up on: they still run. Nil from an earlier version.
    package var stuck: Int?

    package init(
        host: String,
        pid: Int,
        name: String,
        slots: Int,
        busy: Int = 0,
        queues: [String],
        handles: [String],
        version: String,
        startedAt: Int64,
        finished: Int64 = 0,
        failed: Int64 = 0,
        cancelled: Int64 = 0,
        malformed: Int64 = 0,
        phase: String = "running",
        residentBytes: Int64 = 0,
        stuck: Int? = nil
    ) {
        self.host = host
        self.pid = pid
        self.name = name
        self.slots = slots
        self.busy = busy
        self.queues = queues
        self.handles = handles
        self.version = version
        self.startedAt = startedAt
        self.finished = finished
        self.failed = failed
        self.cancelled = cancelled
        self.malformed = malformed
        self.phase = phase
        self.residentBytes = residentBytes
        self.stuck = stuck
    }

    package static let queuesNamed = 16

    package func encoded() -> [UInt8] { (try? JSONEncoder().encode(self)).map(Array.init) ?? [] }

    package init?(_ bytes: [UInt8]) {
        guard let info = try? JSONDecoder().decode(Self.self, from: Data(bytes)) else { return nil }
        self = info
    }
}
