/// The policy for an operation whose dependency ends as dead, cancelled or expired.
public enum DependencyFailurePolicy: String, Sendable, Codable, CaseIterable {
    /// Cancel the operation too. The default, because an operation without its input should not run.
    case cancel
    /// Run the operation nevertheless, as Foundation does.
    case run
    /// Keep the operation blocked until the dependency is removed or the operation is cancelled.
    case hold
}

/// One dependency between two operations, shared by both.
///
/// The lock of the dependent's home guards `policy` and `isResolved`. The other fields never change.
final class DependencyEdge: @unchecked Sendable {
    /// Weak: linked operations that were released without having run must not keep each other alive.
    weak let dependency: LocalOperation?
    let dependencyIdentity: ObjectIdentifier
    var policy: DependencyFailurePolicy
    var isResolved = false

    init(to dependency: LocalOperation, policy: DependencyFailurePolicy) {
        self.dependency = dependency
        dependencyIdentity = ObjectIdentifier(dependency)
        self.policy = policy
    }
}

/// An operation that waits for the owner of this value.
struct Dependent: Sendable {
    var operation: LocalOperation
    let edge: DependencyEdge
}

/// The dependencies and dependents of an operation.
///
/// Guarded by the lock of the operation's home. Nothing here changes after the operation has ended.
final class DependencyLinks: @unchecked Sendable {
    /// The dependencies, including resolved ones.
    var dependencies: [DependencyEdge] = []
    /// The operations that wait for this one.
    var dependents: [Dependent] = []

    /// Returns the unresolved dependency on an operation.
    ///
    /// The identities are compared first, so a weak reference is read only if it leads to the given operation, which
    /// the caller keeps alive, or to nil. Any other reference that is read under the lock could become the last strong
    /// one. A reference with this identity is nil if the policy `hold` kept the link after its dependency was released,
    /// and the given operation now has its address.
    func openEdge(to dependency: LocalOperation) -> DependencyEdge? {
        let identity = ObjectIdentifier(dependency)
        return dependencies.last {
            !$0.isResolved && $0.dependencyIdentity == identity && $0.dependency === dependency
        }
    }

    /// Returns whether the dependent is in this list; nil = the list is too long to search.
    func hasEdge(from dependent: LocalOperation) -> Bool? {
        dependents.count > 8 ? nil : dependents.contains { $0.operation === dependent }
    }
}
