import Foundation

/// The data that a worker sends about itself with each heartbeat. For display only; no decision depends on it.
package struct WorkerInfo: Sendable, Codable, Equatable {
    package var host: String
    package var pid: Int
    package var name: String
    package var slots: Int
    package var busy: Int
    /// The first of the worker's queues, at most `queuesNamed`. Each queue's heartbeat carries this list, so its size
    /// must not grow with the number of queues. The leases show all queues.
    package var queues: [String]
    /// The operation names that the worker handles.
    package var handles: [String]
    package var version: String
    /// The build of the app, as the worker's configuration names it; nil = none.
    package var build: String?
    /// Milliseconds since 1970 by the worker's clock.
    package var startedAt: Int64
    package var finished: Int64
    /// Failed attempts, including those that were retried.
    package var failed: Int64
    package var cancelled: Int64
    /// Operations that the worker could not read.
    package var malformed: Int64
    /// `running`, `quiet` or `draining`.
    package var phase: String
    /// Whether the worker starts new operations.
    package var takesWork: Bool { phase == "running" }
    /// Resident memory in bytes.
    package var residentBytes: Int64
    /// Bodies that still run after their operation was settled, because they did not end after a cancel. Nil from an
    /// earlier version.
    package var stuck: Int?
    /// The time at which the worker sent this, in milliseconds since 1970 by the worker's clock. Nil from an earlier
    /// version.
    package var clock: Int64?

    package init(
        host: String,
        pid: Int,
        name: String,
        slots: Int,
        busy: Int = 0,
        queues: [String],
        handles: [String],
        version: String,
        build: String? = nil,
        startedAt: Int64,
        finished: Int64 = 0,
        failed: Int64 = 0,
        cancelled: Int64 = 0,
        malformed: Int64 = 0,
        phase: String = "running",
        residentBytes: Int64 = 0,
        stuck: Int? = nil,
        clock: Int64? = nil
    ) {
        self.host = host
        self.clock = clock
        self.pid = pid
        self.name = name
        self.slots = slots
        self.busy = busy
        self.queues = queues
        self.handles = handles
        self.version = version
        self.build = build
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
        // A program that wrote the text may not keep the rule.
        if let build, !BuildRule.allows(build) { self.build = nil }
    }
}
