/// What happens to an operation if its dependency ends as dead, cancelled or expired.
public enum DependencyFailurePolicy: String, Sendable, Codable, CaseIterable {
    /// It is cancelled as well. The default, because an operation without its input should not run.
    case cancel
    /// It runs all the same, as Foundation's operations do.
    case run
    /// It stays blocked until the dependency is removed or the operation is cancelled.
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

/// The edges of an operation.
///
/// Guarded by the lock of the operation's home. They do not change after the operation has ended.
final class DependencyLinks: @unchecked Sendable {
    /// The edges to its dependencies, including resolved ones.
    var dependencies: [DependencyEdge] = []
    /// The operations that wait for it.
    var dependents: [Dependent] = []

    /// The unresolved edge to an operation. A weak reference is read only where it leads to this operation, which the caller keeps alive, or to
    /// nothing: under the lock, any other one could become the last strong one. It leads to nothing where a held edge has outlived its dependency,
    /// and this operation has got the same address.
    func openEdge(to dependency: LocalOperation) -> DependencyEdge? {
        let identity = ObjectIdentifier(dependency)
        return dependencies.last {
            !$0.isResolved && $0.dependencyIdentity == identity && $0.dependency === dependency
        }
    }

    /// Whether the dependent has an edge in this list; nil = the list is too long to search.
    func hasEdge(from dependent: LocalOperation) -> Bool? {
        dependents.count > 8 ? nil : dependents.contains { $0.operation === dependent }
    }
}
