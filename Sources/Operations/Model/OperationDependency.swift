/// An operation that another one waits for, and the policy if it does not finish.
public struct OperationDependency: Sendable, Hashable {
    /// The operation to wait for.
    public var id: OperationID
    /// The queue of the operation to wait for; nil = the queue of the operation that waits.
    public var queue: String?
    /// The policy for the operation that waits if this one ends as dead, cancelled or expired.
    public var policy: DependencyFailurePolicy

    /// Makes a dependency on an operation id.
    ///
    /// - Parameters:
    ///   - id: the operation to wait for.
    ///   - queue: the queue of that operation; nil = the queue of the operation that waits.
    ///   - policy: the policy for the operation that waits if this one ends as dead, cancelled or expired.
    public init(_ id: OperationID, queue: String? = nil, onFailure policy: DependencyFailurePolicy = .cancel) {
        (self.id, self.queue, self.policy) = (id, queue, policy)
    }
}

/// A value that an operation can wait for: an enqueued operation, with or without a policy.
public protocol OperationDependencyConvertible: Sendable {
    /// The operation to wait for, and the policy.
    var dependency: OperationDependency { get }
}

extension OperationDependencyConvertible {
    /// Returns this dependency with another policy.
    ///
    /// - Parameter policy: the policy for the operation that waits if this one ends as dead, cancelled or expired.
    /// - Returns: a dependency to pass to `EnqueueOptions.after`.
    public func onFailure(_ policy: DependencyFailurePolicy) -> OperationDependency {
        var dependency = dependency
        dependency.policy = policy
        return dependency
    }
}

extension OperationDependency: OperationDependencyConvertible {
    /// The dependency itself.
    public var dependency: OperationDependency { self }
}

extension OperationID: OperationDependencyConvertible {
    /// The operation with this id, in the queue of the operation that waits, with the policy `cancel`.
    public var dependency: OperationDependency { OperationDependency(self) }
}
