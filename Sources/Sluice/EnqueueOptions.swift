import Foundation

/// How an operation is to be queued, apart from what it does.
public struct EnqueueOptions: Sendable, Equatable {
    /// When it may start.
    public enum Start: Sendable, Equatable {
        /// As soon as a slot is free.
        case now
        /// After this time, at most 100 years, counted by the server from the moment it takes the operation.
        case after(Duration)
        /// At this time of the server's clock, at most 100 years ahead.
        case at(Date)
    }

    /// How urgently it wants a slot.
    public var priority: OperationPriority
    /// When it may start.
    public var start: Start
    /// At most 16 labels of at most 64 bytes each.
    public var tags: [String]
    /// The id to use; nil = a new one. `OperationID(key:)` makes the same id of the same key, so that a repeated enqueue of one
    /// piece of work is one operation.
    public var id: OperationID?
    /// How often it may run, 1 to 999; nil = what its type says.
    public var attempts: Int?
    /// Time after which it is no longer started, at most 100 years; nil = never.
    public var expires: Duration?
    /// Longest time for one attempt, at most 100 years; nil = what its type says.
    public var runTimeout: Duration?
    /// True: it has a record from the beginning, with state, result, log and handle. False: the fast path, for work that nobody
    /// asks about; it gets a record only if it fails or is cancelled. A delayed operation is always tracked.
    public var tracked: Bool
    /// What to wait for, at most five seconds, beyond the answer that Redis has it. If that does not come in time, the operation is
    /// stored all the same, and `OperationReference.isConfirmed` is false: this is no error, and a repeat would do it no good.
    public var durability: Durability

    /// Options with every default visible.
    ///
    /// - Parameters:
    ///   - priority: how urgently it wants a slot.
    ///   - start: when it may start.
    ///   - tags: at most 16 labels of at most 64 bytes each.
    ///   - id: the id to use; nil = a new one.
    ///   - attempts: how often it may run; nil = what its type says.
    ///   - expires: time after which it is no longer started; nil = never.
    ///   - runTimeout: longest time for one attempt; nil = what its type says.
    ///   - tracked: whether it has a record from the beginning.
    ///   - durability: what to wait for beyond the answer.
    public init(
        priority: OperationPriority = .normal,
        start: Start = .now,
        tags: [String] = [],
        id: OperationID? = nil,
        attempts: Int? = nil,
        expires: Duration? = nil,
        runTimeout: Duration? = nil,
        tracked: Bool = true,
        durability: Durability = .none
    ) {
        self.priority = priority
        self.start = start
        self.tags = tags
        self.id = id
        self.attempts = attempts
        self.expires = expires
        self.runTimeout = runTimeout
        self.tracked = tracked
        self.durability = durability
    }
}

extension EnqueueOptions {
    /// The operation as the broker takes it, checked as far as a client can.
    ///
    /// - Parameters:
    ///   - name: the registered type.
    ///   - arguments: one JSON value as UTF-8.
    ///   - retry: the type's policy as the producer knows it; `attempts` overrides its number. nil = what the worker's type says.
    ///   - serverTime: milliseconds of server time; needed for `.at` only.
    /// - Throws: `OperationsError` with `.invalidName`, `.invalidOption` or `.tooLarge`.
    package func operation(
        name: String,
        arguments: [UInt8],
        retry: RetryPolicy? = nil,
        serverTime: Int64?
    ) throws(OperationsError) -> NewOperation {
        var retry = retry.map(RetryOverrides.init) ?? RetryOverrides()
        if let attempts { retry.attempts = attempts }
        let envelope = OperationEnvelope(
            name: name,
            arguments: arguments,
            tags: tags,
            retry: retry,
            runTimeout: runTimeout
        )
        try envelope.validate()
        try TimeLimit.check(expires, "the expiry")
        return NewOperation(
            id: id ?? OperationID(),
            // Only a record can tell that an id is taken.
            tracked: tracked || id != nil,
            priority: priority,
            delayMilliseconds: try delay(serverTime: serverTime),
            expiresMilliseconds: expires?.wholeMilliseconds ?? 0,
            envelope: envelope.encoded()
        )
    }

    private func delay(serverTime: Int64?) throws(OperationsError) -> Int64 {
        switch start {
        case .now: return 0
        case .after(let duration):
            try TimeLimit.check(duration, "the delay", least: .zero)
            return duration.wholeMilliseconds
        case .at(let date):
            let now = serverTime ?? Int64(Date().timeIntervalSince1970 * 1000)
            return try TimeLimit.delay(until: (date.timeIntervalSince1970 * 1000).rounded(.up), now: now)
        }
    }
}
