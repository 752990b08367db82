import Operations

/// How long bodies continue after the lease of their worker has ended because Redis does not answer.
///
/// A worker cannot know whether it alone is cut off. If so, another worker may run the same operation meanwhile: fences
/// keep the result right, but effects outside of Sluice may happen twice. If all workers are cut off, a body that
/// continues saves its work. When Redis answers, the worker continues the operations that it still owns, and stops at
/// once those that another worker has taken.
public struct OutageGrace: Sendable, Hashable {
    /// The grace of all operations without a grace of their own, 0 to 100 years.
    public var standard: Duration
    /// Graces by operation name.
    ///
    /// Use zero for a body that must never overlap with another run of its operation. The worker then asks the body to
    /// end one second before another worker may start the operation. With a lease below four seconds, a quarter of the
    /// lease replaces that second.
    public var names: [String: Duration]
    /// Graces by queue, for operations whose names have no grace.
    public var queues: [String: Duration]

    /// Creates graces for operations.
    ///
    /// - Parameters:
    ///   - standard: the grace of all operations that are not named, 0 to 100 years.
    ///   - names: graces by operation name.
    ///   - queues: graces by queue; a grace for an operation's name comes first.
    public init(
        _ standard: Duration = SluiceDefaults.outageGrace,
        names: [String: Duration] = [:],
        queues: [String: Duration] = [:]
    ) {
        (self.standard, self.names, self.queues) = (standard, names, queues)
    }

    /// Returns the grace of an operation.
    ///
    /// - Parameter name: the name of the operation; nil = its body has not begun.
    func of(name: String?, queue: String) -> Duration { name.flatMap { names[$0] } ?? queues[queue] ?? standard }

    /// Returns all different graces below a limit.
    func short(below limit: Duration) -> Set<Duration> {
        if names.isEmpty, queues.isEmpty, standard >= limit { return [] }
        return Set([standard] + names.values + queues.values).filter { $0 < limit }
    }

    /// - Throws: `OperationsError` for a time out of its range, or an invalid queue name.
    func validate() throws(OperationsError) {
        try TimeLimit.check(standard, "the outage grace", least: .zero)
        for (name, grace) in names { try TimeLimit.check(grace, "the outage grace of \(name)", least: .zero) }
        for (queue, grace) in queues {
            try NameRule.check(queue, role: "queue")
            try TimeLimit.check(grace, "the outage grace of queue \(queue)", least: .zero)
        }
    }
}
