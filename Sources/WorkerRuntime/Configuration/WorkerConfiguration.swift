import Logging
import Operations

/// Settings of a worker. `init` shows every default; the worker checks the settings once, at its start.
public struct WorkerConfiguration: Sendable {
    /// When a worker ends by itself.
    public enum Burst: String, Sendable, CaseIterable {
        /// Never: the worker waits for work until it is stopped.
        case none
        /// Once the queues have nothing ready, nothing executing and nothing due within a second.
        case ready
        /// As `ready`, and nothing is scheduled or retrying either.
        case all
    }

    /// A label for people; nil = host and process number.
    public var name: String?
    /// The build of your app, such as a version or a commit: 1 to 64 printable characters, nil = none. The dashboard
    /// marks in its charts when workers of a build first registered.
    public var build: String?
    /// The queues to serve.
    public var queues: QueueSelection
    /// Maximum number of operations that run at the same time, 1 to 10,000.
    public var slots: Int
    /// How long the worker counts as alive after a heartbeat, 1 s to 1 h. After that, other workers run the operations
    /// of a lost worker.
    public var lease: Duration
    /// How long a stopping worker waits for running operations, 0 to 100 years.
    public var drainTimeout: Duration
    /// How long an operation may take to end after a cancel or its run timeout, before it is stuck: 0 to 100 years. The
    /// worker waits one second longer, because programs are killed when the grace is over.
    public var cancelGrace: Duration
    /// How long bodies continue after the lease has ended because Redis does not answer.
    public var outageGrace: OutageGrace
    /// The worker's reaction to a stuck operation.
    public var stuck: StuckPolicy
    /// When the worker ends without being stopped.
    public var burst: Burst
    /// The number of runs after which the worker drains and ends, so that a new process takes over; nil = no limit.
    public var maxOperations: Int?
    /// The resident memory in bytes above which the worker drains and ends, checked at each heartbeat: at least 16 MiB,
    /// nil = no limit.
    public var maxResidentBytes: Int64?
    /// True = the worker accepts a Redis that evicts operations when its memory is full.
    public var allowsEviction: Bool
    /// True = `Worker.run()` returns after `sluice workers stop`: for a program that is only a worker. A program that
    /// does other things as well stays up.
    public var endsWhenStopped: Bool
    /// The level from which lines of `OperationContext.logger` also go to the operation's log; nil = none do.
    public var operationLogLevel: Logger.Level?
    /// The longest times of the worker's drain. Only tests set others, so that no slow machine decides their outcome.
    var drainTimes = DrainTimes()

    /// Creates a configuration. The worker checks it when it starts.
    ///
    /// - Parameters:
    ///   - name: a label for people; nil = host and process number.
    ///   - build: the build of your app, 1 to 64 printable characters; nil = none.
    ///   - queues: the queues to serve.
    ///   - slots: maximum number of operations that run at the same time, 1 to 10,000.
    ///   - lease: how long the worker counts as alive after a heartbeat, 1 s to 1 h.
    ///   - drainTimeout: how long a stopping worker waits for running operations, 0 to 100 years.
    ///   - cancelGrace: how long an operation may take to end after a cancel or its run timeout, 0 to 100 years.
    ///   - outageGrace: how long bodies continue after the lease has ended because Redis does not answer.
    ///   - stuck: the worker's reaction to an operation that does not end within the grace.
    ///   - burst: when the worker ends without being stopped.
    ///   - maxOperations: the number of runs after which the worker drains and ends; nil = no limit.
    ///   - maxResidentBytes: the resident memory above which the worker drains and ends, at least 16 MiB; nil = no
    ///     limit.
    ///   - allowsEviction: true = accept a Redis that evicts operations when its memory is full.
    ///   - endsWhenStopped: true = `Worker.run()` returns after `sluice workers stop`.
    ///   - operationLogLevel: the level from which lines of `OperationContext.logger` also go to the operation's log;
    ///     nil = none do.
    public init(
        name: String? = nil,
        build: String? = nil,
        queues: QueueSelection = [QueueShare(SluiceDefaults.queue)],
        slots: Int = SluiceDefaults.slots,
        lease: Duration = SluiceDefaults.lease,
        drainTimeout: Duration = SluiceDefaults.drainTimeout,
        cancelGrace: Duration = SluiceDefaults.cancelGrace,
        outageGrace: OutageGrace = OutageGrace(),
        stuck: StuckPolicy = .free,
        burst: Burst = .none,
        maxOperations: Int? = nil,
        maxResidentBytes: Int64? = nil,
        allowsEviction: Bool = false,
        endsWhenStopped: Bool = false,
        operationLogLevel: Logger.Level? = nil
    ) {
        self.name = name
        self.build = build
        self.queues = queues
        self.slots = slots
        self.lease = lease
        self.drainTimeout = drainTimeout
        self.cancelGrace = cancelGrace
        self.outageGrace = outageGrace
        self.stuck = stuck
        self.burst = burst
        self.maxOperations = maxOperations
        self.maxResidentBytes = maxResidentBytes
        self.allowsEviction = allowsEviction
        self.endsWhenStopped = endsWhenStopped
        self.operationLogLevel = operationLogLevel
    }

    /// The smallest limit. A lower one is a mistake: no worker would live longer than one heartbeat.
    private static let leastResidentBytes: Int64 = 16 << 20

    /// The time between two heartbeats.
    var beatInterval: Duration { lease / SluiceDefaults.beatsPerLease }

    /// Checks each setting, and combinations of settings.
    ///
    /// - Throws: `WorkerError` with `.invalidConfiguration`, or `OperationsError` with `.invalidName`.
    public func validate() throws {
        if let name { try NameRule.check(name, role: "worker name") }
        try check((1...10_000).contains(slots), "slots is \(slots): use 1 to 10000")
        try check(
            lease >= .seconds(1) && lease <= .seconds(3600),
            "the lease is \(lease): use 1 second to 1 hour"
        )
        do {
            if let build { try BuildRule.check(build) }
            try TimeLimit.check(drainTimeout, "the drain timeout", least: .zero)
            try TimeLimit.check(cancelGrace, "the cancel grace", least: .zero)
            try outageGrace.validate()
        } catch { throw WorkerError(.invalidConfiguration, error.message) }
        if let maxOperations { try check(maxOperations >= 1, "max operations is \(maxOperations): use 1 or more") }
        if let maxResidentBytes {
            try check(
                maxResidentBytes >= Self.leastResidentBytes,
                "max resident memory is \(maxResidentBytes) bytes: use at least 16 MiB, "
                    + "and more than an idle worker needs"
            )
        }
        if case .named(let shares) = queues { try validate(shares) }
    }

    private func validate(_ shares: [QueueShare]) throws {
        try check(!shares.isEmpty, "a worker needs at least one queue")
        for share in shares {
            try NameRule.check(share.name, role: "queue")
            try check(
                (1...1000).contains(share.weight),
                "queue \"\(share.name)\" has a weight of \(share.weight): use 1 to 1000"
            )
            try check(
                share.reservedSlots >= 0,
                "queue \"\(share.name)\" has \(share.reservedSlots) reserved slots: use 0 or more"
            )
            try check(
                shares.count { $0.name == share.name } == 1,
                "queue \"\(share.name)\" is named twice"
            )
        }
        let reserved = shares.reduce(0) { $0 + $1.reservedSlots }
        try check(
            reserved <= slots,
            "the queues reserve \(reserved) slots, but the worker has \(slots): reserve fewer, or use \(reserved) slots"
        )
        try check(
            reserved < slots || shares.allSatisfy { $0.reservedSlots > 0 },
            "all \(slots) slots are reserved, so queues without reserved slots would never run: reserve fewer, "
                + "or use more slots"
        )
    }

    private func check(_ holds: Bool, _ message: String) throws {
        guard holds else { throw WorkerError(.invalidConfiguration, message) }
    }
}
