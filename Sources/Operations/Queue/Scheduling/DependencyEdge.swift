/// What becomes of an operation whose dependency ends without having finished: dead, cancelled or expired.
public enum DependencyFailurePolicy: String, Sendable, Codable, CaseIterable {
    /// It is cancelled as well. The default: an operation whose input is missing must not run unless somebody says so.
    case cancel
    /// It runs all the same: the rule of Foundation's operations.
    case run
    /// It stays blocked until somebody removes the dependency or cancels it.
    case hold
}

/// One dependency between two operations, as both of them know it.
///
/// `policy` and `isResolved` are guarded by the lock of the dependent's home; the rest never changes.
final class DependencyEdge: @unchecked Sendable {
    /// Weak: operations that were linked and then dropped without being run must not keep each other alive.
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

/// An operation that waits for the one that holds this.
struct Dependent: Sendable {
    var operation: LocalOperation
    let edge: DependencyEdge
}

/// The edges of an operation that has any.
///
/// Guarded by the lock of the operation's home; once the operation has ended nobody changes them any more.
final class DependencyLinks: @unchecked Sendable {
    /// What it waits for, and resolved edges.
    var dependencies: [DependencyEdge] = []
    /// What waits for it.
    var dependents: [Dependent] = []

    /// The unresolved edge to an operation. Not found by the weak reference: to take one under the lock may leave us with the last.
    func openEdge(to dependency: LocalOperation) -> DependencyEdge? {
        let identity = ObjectIdentifier(dependency)
        return dependencies.last { !$0.isResolved && $0.dependencyIdentity == identity }
    }

    /// Whether something waits for it by an edge of this list; nil = the list is too long to look.
    func hasEdge(from dependent: LocalOperation) -> Bool? {
        dependents.count > 8 ? nil : dependents.contains { $0.operation === dependent }
    }
}
