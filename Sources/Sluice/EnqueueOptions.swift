import Foundation

/// How operations are enqueued: queue, priority, delay and so on. What is not set has its default.
///
/// ```swift
/// try await sluice.enqueue(Resize(path: "a.png", width: 200), .queue("images"), .priority(.high), .delay(.seconds(5)))
///
/// let nightly = EnqueueOptions(.queue("reports"), .priority(.low), .tags("nightly"))
/// try await sluice.enqueue(Report(day: day), nightly, .attempts(3))
/// ```
///
/// Every enqueue takes any number of these values. A later value replaces what an earlier one sets; tags and headers add up.
public struct EnqueueOptions: Sendable, Equatable {
    /// When an operation may start.
    public enum Start: Sendable, Equatable {
        /// As soon as a slot is free.
        case now
        /// After this time, at most 100 years, counted by the server from the moment it takes the operation.
        case delay(Duration)
        /// At this time of the server's clock, at most 100 years ahead.
        case at(Date)
    }

    /// The name of the queue; nil = `default`.
    public var queue: String?
    /// How urgently an operation wants a slot; nil = normal.
    public var priority: OperationPriority?
    /// When an operation may start; nil = as soon as a slot is free. `.delay` and `.at` replace each other.
    public var start: Start?
    /// Labels to search for: at most 16 of at most 64 bytes each.
    public var tags: [String] = []
    /// Texts that the body gets besides its arguments; see `headers(_:)`.
    public var headers: [String: String] = [:]
    /// The id to use, for one operation only; nil = a new one.
    public var id: OperationID?
    /// How often an operation may run, 1 to 999; nil = what its type says.
    public var attempts: Int?
    /// Time after which an operation is no longer started, at most 100 years; nil = never.
    public var expires: Duration?
    /// Longest time for one attempt, at most 100 years; nil = what its type says.
    public var runTimeout: Duration?
    /// False for the fast path without a record; see `untracked`. nil = true.
    public var tracked: Bool?
    /// What to wait for beyond the answer of Redis; nil = nothing. See `durability(_:)`.
    public var durability: Durability?
    /// See `unique(_:ifExists:freshFor:)`; nil = it may be there any number of times.
    package var uniqueness: Uniqueness?
    /// See `key(_:)`; nil = it runs beside any others.
    public var limitKey: String?
    /// See `after(_:)`; without any it waits for no other operation.
    public var dependencies: [Dependency] = []
    /// See `group(_:)`; without any it is in no group.
    package var groups: [DependencyName] = []
    /// See `withCompletion`.
    package var isForCompletion = false
    /// Of the group that ends with a run; see `OperationContext.enqueue`.
    package var callback: GroupCallback?

    /// Combines options into one value.
    ///
    /// - Parameter options: a later one replaces what an earlier one sets; tags, headers, dependencies and groups add up. Without any, everything has its default.
    public init(_ options: EnqueueOptions...) { self.init(options) }

    /// Combines options into one value, for functions that take options and pass them on.
    ///
    /// - Parameter options: a later one replaces what an earlier one sets; tags, headers, dependencies and groups add up.
    public init(_ options: [EnqueueOptions]) { for option in options { add(option) } }

    private mutating func add(_ later: EnqueueOptions) {
        queue = later.queue ?? queue
        priority = later.priority ?? priority
        start = later.start ?? start
        tags += later.tags
        headers.merge(later.headers) { $1 }
        id = later.id ?? id
        attempts = later.attempts ?? attempts
        expires = later.expires ?? expires
        runTimeout = later.runTimeout ?? runTimeout
        tracked = later.tracked ?? tracked
        durability = later.durability ?? durability
        uniqueness = later.uniqueness ?? uniqueness
        limitKey = later.limitKey ?? limitKey
        dependencies += later.dependencies
        groups += later.groups
        isForCompletion = isForCompletion || later.isForCompletion
        callback = later.callback ?? callback
    }
}

extension EnqueueOptions {
    /// The queue to enqueue into, instead of `default`.
    ///
    /// - Parameter name: 1 to 128 characters; see `NameRule`.
    public static func queue(_ name: String) -> EnqueueOptions { setting(\.queue, name) }

    /// How urgently an operation wants a slot, instead of normally.
    ///
    /// - Parameter priority: the lane of the queue.
    public static func priority(_ priority: OperationPriority) -> EnqueueOptions { setting(\.priority, priority) }

    /// Starts an operation after a time at the earliest. A delayed operation is always tracked.
    ///
    /// - Parameter time: zero to 100 years, counted by the server from the moment it takes the operation.
    public static func delay(_ time: Duration) -> EnqueueOptions { setting(\.start, .delay(time)) }

    /// Starts an operation at a time at the earliest. A delayed operation is always tracked.
    ///
    /// - Parameter date: a time of the server's clock, at most 100 years ahead; a past one means now.
    public static func at(_ date: Date) -> EnqueueOptions { setting(\.start, .at(date)) }

    /// The limit key: a tenant, an account or a host. Of the operations of a queue with one key only so many run at once and start in a time, as
    /// `SluiceClient.limit(queue:_:)` says for the keys of the queue, and keys get equal shares of a busy queue: one with a hundred thousand
    /// operations holds up no other. An operation with a limit key is always tracked.
    ///
    /// ```swift
    /// try await sluice.enqueue(Import(file: file), .queue("imports"), .key("acme"))
    /// try await sluice.limit(queue: "imports", .keyConcurrency(2), .keyWeight(4, of: "acme"))
    /// ```
    ///
    /// - Parameter key: 1 to 128 characters; see `NameRule`.
    public static func key(_ key: String) -> EnqueueOptions { setting(\.limitKey, key) }

    /// Labels to search for, in addition to those of other options.
    ///
    /// - Parameter tags: at most 16 in all, of at most 64 bytes each.
    public static func tags(_ tags: String...) -> EnqueueOptions { setting(\.tags, tags) }

    /// Texts that the body finds in `OperationContext.headers`, in addition to those of other options: for what goes with an operation and is
    /// not an argument of it, as a tenant or a trace. Of two values of one name the later one counts.
    ///
    /// ```swift
    /// try await sluice.enqueue(Resize(path: "a.png", width: 200), .headers(["tenant": "acme"]))
    /// ```
    ///
    /// They are signed with the operation, but not encrypted, and displays show them: put no secrets into them.
    ///
    /// - Parameter headers: at most 32 in all. Names of 1 to 128 characters (see `NameRule`); values of printable text, at most 1 KiB each; at
    ///   most 4 KiB in all, names included.
    public static func headers(_ headers: [String: String]) -> EnqueueOptions { setting(\.headers, headers) }

    /// The id to use, instead of a new one. An operation with an id is always tracked.
    ///
    /// - Parameter id: `OperationID(key:)` makes the same id of the same key, so that a repeated enqueue of one piece of work is one
    ///   operation: the one that is there stays as it is.
    public static func id(_ id: OperationID) -> EnqueueOptions { setting(\.id, id) }

    /// How often an operation may run, instead of what the `retryPolicy` of its type says.
    ///
    /// - Parameter count: 1 to 999, the first run included.
    public static func attempts(_ count: Int) -> EnqueueOptions { setting(\.attempts, count) }

    /// Ends an operation as expired if no worker has started it in time.
    ///
    /// - Parameter time: more than zero, at most 100 years, counted by the server.
    public static func expires(after time: Duration) -> EnqueueOptions { setting(\.expires, time) }

    /// Longest time for one attempt, instead of what the type says.
    ///
    /// - Parameter time: more than zero, at most 100 years.
    public static func runTimeout(_ time: Duration) -> EnqueueOptions { setting(\.runTimeout, time) }

    /// The fast path, for work whose end no one waits for: no state, result, log or handle while all goes well. A record is made only
    /// if the operation fails or is cancelled.
    public static var untracked: EnqueueOptions { setting(\.tracked, false) }

    /// A record from the beginning, with state, result and log: the default, and what replaces an earlier `untracked`.
    public static var tracked: EnqueueOptions { setting(\.tracked, true) }

    /// Waits for more than the answer that Redis has the operation, for at most five seconds.
    ///
    /// If the confirmation does not come in time, the enqueue does not throw: the operation is stored, and
    /// `OperationReference.isConfirmed` is false. Do not repeat the enqueue.
    ///
    /// - Parameter durability: what confirms the operation: replicas, or the disk.
    public static func durability(_ durability: Durability) -> EnqueueOptions { setting(\.durability, durability) }

    private static func setting<Value>(
        _ path: WritableKeyPath<EnqueueOptions, Value>,
        _ value: Value
    ) -> EnqueueOptions {
        var options = EnqueueOptions()
        options[keyPath: path] = value
        return options
    }
}

extension EnqueueOptions {
    /// The queue, with its default.
    package var queueName: String { queue ?? Defaults.queue }

    /// With what one operation of many adds.
    ///
    /// - Throws: `OperationsError` with `.invalidOption` for another queue or durability: many go to one queue, and are confirmed once.
    func with(_ own: EnqueueOptions) throws(OperationsError) -> EnqueueOptions {
        let all = EnqueueOptions(self, own)
        guard all.queueName == queueName else {
            throw OperationsError(
                .invalidOption,
                "one operation asks for queue \(OperationsError.quoted(all.queueName)), but its call enqueues to "
                    + "\(OperationsError.quoted(queueName)): use one call per queue"
            )
        }
        guard all.durability == durability else {
            throw OperationsError(
                .invalidOption,
                "one operation asks for another durability than its call: give .durability(…) to the call"
            )
        }
        return all
    }

    /// Whether a date is to become a delay, which needs the server's clock.
    var needsServerTime: Bool { if case .at = start { true } else { false } }
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
            headers: headers,
            retry: retry,
            runTimeout: runTimeout
        )
        try envelope.validate()
        try TimeLimit.check(expires, "the expiry")
        guard uniqueness == nil || tracked != false else {
            throw OperationsError(
                .invalidOption,
                "an untracked operation cannot have a unique key: drop .untracked"
            )
        }
        guard limitKey == nil || tracked != false else {
            throw OperationsError(.invalidOption, "an untracked operation cannot have a limit key: drop .untracked")
        }
        if let limitKey { try NameRule.check(limitKey, role: "limit key") }
        let links = OperationLinks(
            unique: try uniqueness?.claim(),
            limitKey: limitKey,
            after: try checkedDependencies(),
            entering: try checkedGroups()
        )
        return NewOperation(
            id: id ?? OperationID(),
            // Only a record can tell that an id is taken.
            tracked: (tracked ?? true) || id != nil,
            priority: priority ?? .normal,
            delayMilliseconds: try delay(serverTime: serverTime),
            expiresMilliseconds: expires?.wholeMilliseconds ?? 0,
            envelope: envelope.encoded(),
            links: try boundToRun(links)
        )
    }

    private func delay(serverTime: Int64?) throws(OperationsError) -> Int64 {
        if start != nil, uniqueness?.start != nil {
            throw OperationsError(.invalidOption, "debounce says when the operation may start: drop .delay and .at")
        }
        switch start ?? uniqueness?.start {
        case .now, nil: return 0
        case .delay(let duration):
            try TimeLimit.check(duration, "the delay", least: .zero)
            return duration.wholeMilliseconds
        case .at(let date):
            let now = serverTime ?? Int64(Date().timeIntervalSince1970 * 1000)
            return try TimeLimit.delay(until: (date.timeIntervalSince1970 * 1000).rounded(.up), now: now)
        }
    }
}
