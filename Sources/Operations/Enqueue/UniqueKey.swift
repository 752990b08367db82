/// A unique key: at most one operation of a queue with this key is in flight; see `EnqueueOptions.unique`.
public struct UniqueKey: Sendable, Hashable, ExpressibleByStringLiteral, ExpressibleByStringInterpolation {
    /// The text of the key; nil = `automatic`.
    package let text: String?

    /// Creates a key from a text.
    ///
    /// - Parameter text: 1 to 128 bytes without control characters. Use a digest of longer texts.
    public init(_ text: String) { self.text = text }

    /// Creates a key from a literal.
    ///
    /// - Parameter value: as in `init(_:)`.
    public init(stringLiteral value: String) { text = value }

    private init() { text = nil }

    /// A digest of the operation's name and arguments, so that equal work is enqueued once. The order of the arguments'
    /// members does not matter. With encryption keys, the digest is made with a key that is derived from the first of
    /// them.
    public static let automatic = UniqueKey()
}

extension EnqueueOptions {
    /// The unique key of an operation, and the policy if the key is taken.
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

    /// Lets at most one operation of a key be in flight (waiting or executing) in the queue, on the whole cluster.
    ///
    /// ```swift
    /// // The existing operation, or a new one:
    /// let sync = try await sluice.enqueue(Sync(account: 7), .unique("sync 7"))
    /// try await sluice.enqueue(Report(day: day), .unique(.automatic, ifExists: .skip, freshFor: .seconds(3600)))
    /// try await sluice.enqueue(Search(text: text), .unique("search \(user)", ifExists: .debounce(.milliseconds(300))))
    /// ```
    ///
    /// If the key is taken and the operation is not enqueued, the handle has the id of the existing operation, and
    /// `isNew` is false. With `replace` and `enqueue` the new operation is `blocked` until the previous one has ended.
    /// After a forced cancel, it is blocked until the previous body has stopped or its worker is gone. An operation
    /// with a unique key is always tracked.
    ///
    /// - Parameters:
    ///   - key: identifies the work in the queue.
    ///   - policy: the policy while another operation of the key is in flight.
    ///   - freshFor: how long `join` and `skip` return this operation after it has finished, instead of a new one. More
    ///     than zero, at most 100 years, counted by the server; nil = not at all. The result is stored as long as those
    ///     of other operations.
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
