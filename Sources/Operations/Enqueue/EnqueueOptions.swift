import Foundation

/// Options of an enqueue, such as queue, priority and delay. Each option has a default.
///
/// ```swift
/// try await sluice.enqueue(Resize(path: "a.png", width: 200), .queue("images"), .priority(.high), .delay(.seconds(5)))
///
/// let nightly = EnqueueOptions(.queue("reports"), .priority(.low), .tags("nightly"))
/// try await sluice.enqueue(Report(day: day), nightly, .attempts(3))
/// ```
///
/// Every enqueue takes any number of these values. A later value replaces an earlier one; tags, headers, dependencies
/// and groups add up.
public struct EnqueueOptions: Sendable, Equatable {
    /// When an operation may start.
    public enum Start: Sendable, Equatable {
        /// As soon as a slot is free.
        case now
        /// After this time, at most 100 years. The server counts it from the moment at which it receives the operation.
        case delay(Duration)
        /// At this time of the server's clock, at most 100 years ahead.
        case at(Date)
    }

    /// The name of the queue; nil = `default`.
    public var queue: String?
    /// The priority, which selects the lane of the queue; nil = normal.
    public var priority: OperationPriority?
    /// When an operation may start; nil = as soon as a slot is free. `.delay` and `.at` replace each other.
    public var start: Start?
    /// Labels to search for: at most 16 of at most 64 bytes each.
    public var tags: [String] = []
    /// Extra texts for the body, in addition to its arguments; see `headers(_:)`.
    public var headers: [String: String] = [:]
    /// The id to use, for one operation only; nil = a new one.
    public var id: OperationID?
    /// Maximum number of attempts, 1 to 999; nil = the number in the type's `retryPolicy`.
    public var attempts: Int?
    /// Time after which an operation no longer starts, at most 100 years; nil = no such time.
    public var expires: Duration?
    /// Longest time for one attempt, at most 100 years; nil = the limit of the type.
    public var runTimeout: Duration?
    /// False for the fast path without a record; see `untracked`. nil = true.
    public var tracked: Bool?
    /// Confirmation to wait for beyond the answer of Redis; nil = none. See `durability(_:)`.
    public var durability: Durability?
    /// The unique key and its policy, see `unique(_:ifExists:freshFor:)`; nil = no unique key.
    package var uniqueness: Uniqueness?
    /// The limit key, see `limitKey(_:)`; nil = no limit key.
    public var limitKey: String?
    /// Operations to wait for; see `after(_:)`.
    public var dependencies: [OperationDependency] = []
    /// Groups to enter; see `group(_:)`.
    package var groups: [DependencyName] = []
    /// True if the operation starts with the completion of a run; see `withCompletion`.
    package var isForCompletion = false
    /// The callback of the group that finishes with a run; see `OperationContext.enqueue`.
    package var callback: GroupCallback?

    /// Combines options into one value.
    ///
    /// - Parameter options: a later option replaces an earlier one; tags, headers, dependencies and groups add up.
    ///   Without options, everything has its default.
    public init(_ options: EnqueueOptions...) { self.init(options) }

    /// Combines options into one value, for functions that take options and pass them on.
    ///
    /// - Parameter options: a later option replaces an earlier one; tags, headers, dependencies and groups add up.
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

    /// Sets the priority, instead of normal.
    ///
    /// - Parameter priority: the lane of the queue.
    public static func priority(_ priority: OperationPriority) -> EnqueueOptions { setting(\.priority, priority) }

    /// Delays an operation: it starts after this time at the earliest. A delayed operation is always tracked.
    ///
    /// - Parameter time: zero to 100 years. The server counts it from the moment at which it receives the operation.
    public static func delay(_ time: Duration) -> EnqueueOptions { setting(\.start, .delay(time)) }

    /// Delays an operation: it starts at this date at the earliest. A delayed operation is always tracked.
    ///
    /// - Parameter date: a time of the server's clock, at most 100 years ahead; a past date means now.
    public static func at(_ date: Date) -> EnqueueOptions { setting(\.start, .at(date)) }

    /// Sets the limit key, such as a tenant, an account or a host.
    ///
    /// Limits per key bound how many operations of a key run at once and how many start in a time.
    /// `SluiceClient.limit(queue:_:)` sets them for a queue. Keys get equal shares of a busy queue, or shares by their
    /// weights: a key with a hundred thousand operations does not delay the others. An operation with a limit key is
    /// always tracked.
    ///
    /// ```swift
    /// try await sluice.enqueue(Import(file: file), .queue("imports"), .limitKey("acme"))
    /// try await sluice.limit(queue: "imports", .keyConcurrency(2), .keyWeight(4, of: "acme"))
    /// ```
    ///
    /// - Parameter key: 1 to 128 characters; see `NameRule`.
    public static func limitKey(_ key: String) -> EnqueueOptions { setting(\.limitKey, key) }

    /// Labels to search for, in addition to those of other options.
    ///
    /// - Parameter tags: at most 16 in all, of at most 64 bytes each.
    public static func tags(_ tags: String...) -> EnqueueOptions { setting(\.tags, tags) }

    /// Adds texts that the body finds in `OperationContext.headers`.
    ///
    /// Headers are for values that belong to an operation but are not arguments, such as a tenant or a trace. If
    /// several options set a header of the same name, the later value counts.
    ///
    /// ```swift
    /// try await sluice.enqueue(Resize(path: "a.png", width: 200), .headers(["tenant": "acme"]))
    /// ```
    ///
    /// Headers are signed with the operation, but not encrypted, and displays show them: put no secrets into them.
    ///
    /// - Parameter headers: at most 32 in all, and at most 4 KiB in all, names included. Names have 1 to 128 characters
    ///   (see `NameRule`). Values are printable text of at most 1 KiB each.
    public static func headers(_ headers: [String: String]) -> EnqueueOptions { setting(\.headers, headers) }

    /// The id to use, instead of a new one. An operation with an id is always tracked.
    ///
    /// - Parameter id: the id. `OperationID(key:)` makes the same id from the same key, so a repeated enqueue of the
    ///   same work finds the existing operation and leaves it unchanged.
    public static func id(_ id: OperationID) -> EnqueueOptions { setting(\.id, id) }

    /// Sets the maximum number of attempts, instead of the number in the type's `retryPolicy`.
    ///
    /// - Parameter count: 1 to 999, the first run included.
    public static func attempts(_ count: Int) -> EnqueueOptions { setting(\.attempts, count) }

    /// Ends an operation as expired if no worker has started it in time.
    ///
    /// - Parameter time: more than zero, at most 100 years, counted by the server.
    public static func expires(after time: Duration) -> EnqueueOptions { setting(\.expires, time) }

    /// Sets the longest time for one attempt, instead of the type's limit.
    ///
    /// - Parameter time: more than zero, at most 100 years.
    public static func runTimeout(_ time: Duration) -> EnqueueOptions { setting(\.runTimeout, time) }

    /// Selects the fast path: no state, result, log or handle while all goes well. Use it for work whose end no client
    /// waits for. Redis makes a record only if the operation fails or is cancelled.
    public static var untracked: EnqueueOptions { setting(\.tracked, false) }

    /// Gives an operation a record from the beginning, with state, result and log: the default. Replaces an earlier
    /// `untracked`.
    public static var tracked: EnqueueOptions { setting(\.tracked, true) }

    /// Waits for a confirmation by replicas or the disk after Redis has stored the operation, for at most five seconds.
    ///
    /// If the confirmation does not come in time, the enqueue does not throw: the operation is stored, and
    /// `OperationReference.isConfirmed` is false. Do not repeat the enqueue.
    ///
    /// - Parameter durability: the confirmation to wait for: by replicas or by the disk.
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
    /// Starts an operation only after others have ended. The operation is `blocked` until then.
    ///
    /// ```swift
    /// let page = try await sluice.enqueue(Fetch(url: url))
    /// let index = try await sluice.enqueue(Index(url: url), .after(page))
    /// try await sluice.enqueue(CleanUp(url: url), .after(page.onFailure(.run), index.onFailure(.run)))
    /// ```
    ///
    /// If a dependency does not finish, its policy decides:
    ///
    /// - `cancel` cancels this operation and everything that depends on it.
    /// - `run` starts this operation anyway.
    /// - `hold` leaves this operation blocked until the dependency is retried and finishes, or until this operation is
    ///   released or cancelled.
    ///
    /// Dependencies that have ended already count at once. Within one enqueue the order of operations does not matter.
    ///
    /// - Parameter dependencies: tracked operations of any queue of the namespace, at most 10,000 in all. Pass handles,
    ///   references, ids (in the queue of this operation), or one of these with a policy, such as
    ///   `page.onFailure(.run)`. Dependencies of several options add up. If several options name the same operation,
    ///   the last policy counts.
    public static func after(_ dependencies: any OperationDependencyConvertible...) -> EnqueueOptions {
        waiting(for: dependencies.map(\.dependency))
    }

    /// Starts an operation only after others have ended; see `after(_:)`.
    ///
    /// - Parameter dependencies: as in `after(_:)`, any number of one kind.
    public static func after<Dependencies: Sequence>(_ dependencies: Dependencies) -> EnqueueOptions
    where Dependencies.Element: OperationDependencyConvertible {
        waiting(for: dependencies.map(\.dependency))
    }

    private static func waiting(for dependencies: [OperationDependency]) -> EnqueueOptions {
        var options = EnqueueOptions()
        options.dependencies = dependencies
        return options
    }

    /// Starts an operation only with the completion of the run that enqueues it; for `OperationContext.enqueue`.
    ///
    /// The operation is `blocked` until then. If the run ends in any other way, the operation is removed: after a
    /// failure with a next attempt, a cancel or a lost worker. Of the operations that a run enqueues in this way, all
    /// start or none.
    public static var withCompletion: EnqueueOptions {
        var options = EnqueueOptions()
        options.isForCompletion = true
        return options
    }
}
