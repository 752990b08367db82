import Operations

/// How a worker works. Every default is visible in `init`; it is checked once, when the worker starts.
public struct WorkerConfiguration: Sendable {
    /// When a worker ends by itself.
    public enum Burst: String, Sendable, CaseIterable {
        /// Never: it waits for work until it is stopped.
        case none
        /// Once its queues have nothing ready, nothing executing and nothing due within a second.
        case ready
        /// As `ready`, and once nothing is scheduled or retrying either.
        case all
    }

    /// A label for people; nil = host and process number.
    public var name: String?
    /// The queues to serve.
    public var queues: QueueSelection
    /// Most operations that run at the same time, 1 to 10,000.
    public var slots: Int
    /// How long the worker is taken for alive after a heartbeat, 1 s to 1 h. A lost worker's operations run elsewhere after it.
    public var lease: Duration
    /// How long a stopping worker waits for what it runs, 0 to 100 years.
    public var drainTimeout: Duration
    /// How long an operation may take to end, after a cancel or its run timeout, before it is stuck: 0 to 100 years. The worker waits one
    /// second longer, because programs are killed when the grace is over.
    public var cancelGrace: Duration
    /// How long bodies go on when the lease has ended because Redis does not answer.
    public var outageGrace: OutageGrace
    /// What becomes of the worker when an operation is stuck.
    public var stuck: StuckPolicy
    /// When to end without being stopped.
    public var burst: Burst
    /// After so many runs that ended here the worker drains and ends, so that a fresh process takes over; nil = never.
    public var maxOperations: Int?
    /// A heartbeat that finds more resident memory than this, in bytes, does the same; at least 16 MiB, nil = never.
    public var maxResidentBytes: Int64?
    /// Works also on a Redis that throws operations away when its memory is full.
    public var allowsEviction: Bool
    /// Whether `Worker.run()` returns after `sluice workers stop`: for a program that is a worker and nothing else. A program that does other
    /// things as well stays up.
    public var endsWhenStopped: Bool

    /// Makes a configuration. Nothing is checked before the worker starts.
    ///
    /// - Parameters:
    ///   - name: a label for people; nil = host and process number.
    ///   - queues: the queues to serve.
    ///   - slots: most operations that run at the same time, 1 to 10,000.
    ///   - lease: how long the worker is taken for alive after a heartbeat, 1 s to 1 h.
    ///   - drainTimeout: how long a stopping worker waits for what it runs, 0 to 100 years.
    ///   - cancelGrace: how long an operation may take to end after a cancel or its run timeout, 0 to 100 years.
    ///   - outageGrace: how long bodies go on when the lease has ended because Redis does not answer.
    ///   - stuck: what becomes of the worker when an operation does not end within the grace.
    ///   - burst: when to end without being stopped.
    ///   - maxOperations: how many runs may end here before the worker drains and ends; nil = any number.
    ///   - maxResidentBytes: how much resident memory makes the worker drain and end, at least 16 MiB; nil = any.
    ///   - allowsEviction: works also on a Redis that throws operations away when its memory is full.
    ///   - endsWhenStopped: whether `Worker.run()` returns after `sluice workers stop`.
    public init(
        name: String? = nil,
        queues: QueueSelection = [QueueShare(Defaults.queue)],
        slots: Int = Defaults.slots,
        lease: Duration = Defaults.lease,
        drainTimeout: Duration = Defaults.drainTimeout,
        cancelGrace: Duration = Defaults.cancelGrace,
        outageGrace: OutageGrace = OutageGrace(),
        stuck: StuckPolicy = .free,
        burst: Burst = .none,
        maxOperations: Int? = nil,
        maxResidentBytes: Int64? = nil,
        allowsEviction: Bool = false,
        endsWhenStopped: Bool = false
    ) {
        self.name = name
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
    }

    /// A lower limit is a slip: no worker would live for longer than one heartbeat.
    private static let leastResidentBytes: Int64 = 16 << 20

    /// The time between two heartbeats.
    var beatInterval: Duration { lease / Defaults.beatsPerLease }

    /// Checks every setting, and pairs of settings.
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
            try TimeLimit.check(drainTimeout, "the drain timeout", least: .zero)
            try TimeLimit.check(cancelGrace, "the cancel grace", least: .zero)
            try outageGrace.validate()
        } catch { throw WorkerError(.invalidConfiguration, error.message) }
        if let maxOperations { try check(maxOperations >= 1, "max operations is \(maxOperations): use 1 or more") }
        if let maxResidentBytes {
            try check(
                maxResidentBytes >= Self.leastResidentBytes,
                "max resident memory is \(maxResidentBytes) bytes: use at least 16 MiB, an idle worker needs more"
            )
        }
        if case .named(let shares) = queues { try validate(shares) }
    }

    private func validate(_ shares: [QueueShare]) throws {
        try check(!shares.isEmpty, "a worker needs at least one queue")
        for share in shares {
            try NameRule.check(share.name, role: "queue")
            try check((1...1000).contains(share.weight), "queue \"\(share.name)\": use a weight of 1 to 1000")
            try check(share.reservedSlots >= 0, "queue \"\(share.name)\": reserved slots cannot be negative")
            try check(
                shares.count { $0.name == share.name } == 1,
                "queue \"\(share.name)\" is named twice"
            )
        }
        let reserved = shares.reduce(0) { $0 + $1.reservedSlots }
        try check(reserved <= slots, "\(reserved) slots are reserved, but the worker has \(slots)")
        try check(
            reserved < slots || shares.allSatisfy { $0.reservedSlots > 0 },
            "all \(slots) slots are reserved, so a queue without reserved slots would never run"
        )
    }

    private func check(_ holds: Bool, _ message: String) throws {
        guard holds else { throw WorkerError(.invalidConfiguration, message) }
    }
}
