/// An operation that another one waits for, and what becomes of that one if it does not finish.
public struct Dependency: Sendable, Hashable {
    /// The operation to wait for.
    public var id: OperationID
    /// The queue that it is in; nil = that of the operation that waits.
    public var queue: String?
    /// What becomes of the one that waits if this one ends as dead, cancelled or expired.
    public var policy: DependencyFailurePolicy

    /// Makes a dependency of an id.
    ///
    /// - Parameters:
    ///   - id: the operation to wait for.
    ///   - queue: the queue that it is in; nil = that of the operation that waits.
    ///   - policy: what becomes of the one that waits if this one ends as dead, cancelled or expired.
    public init(_ id: OperationID, queue: String? = nil, onFailure policy: DependencyFailurePolicy = .cancel) {
        (self.id, self.queue, self.policy) = (id, queue, policy)
    }
}

/// What an operation can wait for: an operation that was enqueued, as it is or with a policy.
public protocol DependencyConvertible: Sendable {
    /// The operation to wait for, and the policy.
    var dependency: Dependency { get }
}

extension DependencyConvertible {
    /// The same with another policy.
    ///
    /// - Parameter policy: what becomes of the operation that waits if this one ends as dead, cancelled or expired.
    /// - Returns: what to pass to `EnqueueOptions.after`.
    public func onFailure(_ policy: DependencyFailurePolicy) -> Dependency {
        var dependency = dependency
        dependency.policy = policy
        return dependency
    }
}

extension Dependency: DependencyConvertible {
    /// The dependency itself.
    public var dependency: Dependency { self }
}

extension OperationID: DependencyConvertible {
    /// The operation of this id in the queue of the one that waits, with the policy `cancel`.
    public var dependency: Dependency { Dependency(self) }
}
