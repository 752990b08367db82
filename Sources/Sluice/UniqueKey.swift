import Operations

/// The key of which at most one operation of a queue is in flight; see `EnqueueOptions.unique`.
public struct UniqueKey: Sendable, Hashable, ExpressibleByStringLiteral, ExpressibleByStringInterpolation {
    /// The text; nil = `automatic`.
    package let text: String?

    /// - Parameter text: 1 to 128 bytes without control characters. Take a digest of what may be longer.
    public init(_ text: String) { self.text = text }

    /// - Parameter value: as of `init(_:)`.
    public init(stringLiteral value: String) { text = value }

    private init() { text = nil }

    /// A digest of the operation's name and arguments: the same work is enqueued once. Arguments that differ only in the order of their members
    /// are the same. With encryption keys the digest is made with a key that is derived from the first of them.
    public static let automatic = UniqueKey()
}

extension EnqueueOptions {
    /// The unique key of an operation, and what becomes of the operation if the key is taken.
    package struct Uniqueness: Sendable, Equatable {
        package var key: UniqueKey
        package var policy: DuplicatePolicy
        package var freshFor: Duration?

        package init(key: UniqueKey, policy: DuplicatePolicy, freshFor: Duration? = nil) {
            self.key = key
            self.policy = policy
            self.freshFor = freshFor
        }
    }

    /// At most one operation of a key is in flight in the queue, on the whole cluster: waiting or executing.
    ///
    /// ```swift
    /// let sync = try await sluice.enqueue(Sync(account: 7), .unique("sync 7"))                         // the one that is there, or a new one
    /// try await sluice.enqueue(Report(day: day), .unique(.automatic, ifExists: .skip, freshFor: .seconds(3600)))
    /// try await sluice.enqueue(Search(text: text), .unique("search \(user)", ifExists: .debounce(.milliseconds(300))))
    /// ```
    ///
    /// The handle of an operation that was not enqueued because of its key has the id of the one that is there, and `isNew` is false. With
    /// `replace` and `enqueue` the new operation is `blocked` until the one before it has ended; that of a forced cancel, until its body has stopped
    /// or its worker is gone. An operation with a unique key is always tracked.
    ///
    /// - Parameters:
    ///   - key: what the operation is about, in the queue.
    ///   - policy: what to do while another one of the key is in flight.
    ///   - freshFor: how long, once this operation has finished, `join` and `skip` answer with it instead of a new one: more than zero, at most
    ///     100 years; nil = not at all. Counted by the server. Its result is kept as long as those of other operations.
    public static func unique(
        _ key: UniqueKey,
        ifExists policy: DuplicatePolicy = .join,
        freshFor: Duration? = nil
    ) -> EnqueueOptions {
        var options = EnqueueOptions()
        options.uniqueness = Uniqueness(key: key, policy: policy, freshFor: freshFor)
        return options
    }
}

extension EnqueueOptions.Uniqueness {
    /// - Throws: `.invalidOption`.
    func claim() throws(OperationsError) -> UniqueClaim {
        if let text = key.text { try UniqueKeyRule.check(text) }
        try TimeLimit.check(freshFor, "the freshness")
        if case .debounce(let time) = policy { try TimeLimit.check(time, "the time of debounce", least: .zero) }
        return UniqueClaim(
            key: key.text ?? "",
            isAutomatic: key.text == nil,
            policy: policy,
            freshMilliseconds: freshFor?.wholeMilliseconds ?? 0
        )
    }

    /// What `debounce` waits.
    var start: EnqueueOptions.Start? { if case .debounce(let time) = policy { .delay(time) } else { nil } }
}

extension NewOperation {
    /// With the key that `.automatic` stands for.
    ///
    /// - Parameter seal: nil = there are no keys.
    func withUniqueKey(seal: (any EnvelopeSeal)?) throws(OperationsError) -> NewOperation {
        guard let unique = links?.unique, unique.isAutomatic else { return self }
        var operation = self
        operation.links?.unique?.key = try AutomaticKey.key(of: envelope, seal: seal)
        operation.links?.unique?.isAutomatic = false
        return operation
    }
}
