import Operations

/// For how long bodies go on when their worker's lease has ended because Redis does not answer.
///
/// A worker cannot know whether it alone is cut off. If it is, another worker may run the same operation meanwhile: fences keep the result right,
/// but effects outside of Sluice may happen twice. If all are cut off, a body that goes on saves its work. When Redis answers, the worker
/// continues the operations that it still owns, and stops at once those that another worker has taken.
public struct OutageGrace: Sendable, Hashable {
    /// For all operations that are not named below, 0 to 100 years.
    public var standard: Duration
    /// For operations of these names. Zero for a body that must never overlap with another run of its operation: the worker tells the body to
    /// end one second, and with a lease below four seconds a quarter of the lease, before another worker may start the operation.
    public var names: [String: Duration]
    /// For operations of these queues whose names have none of their own.
    public var queues: [String: Duration]

    /// - Parameters:
    ///   - standard: for all operations that are not named, 0 to 100 years.
    ///   - names: by the operation's name.
    ///   - queues: by the queue; an operation's name goes before its queue.
    public init(
        _ standard: Duration = Defaults.outageGrace,
        names: [String: Duration] = [:],
        queues: [String: Duration] = [:]
    ) {
        (self.standard, self.names, self.queues) = (standard, names, queues)
    }

    /// The grace of an operation.
    ///
    /// - Parameter name: nil = its body has not begun.
    func of(name: String?, queue: String) -> Duration { name.flatMap { names[$0] } ?? queues[queue] ?? standard }

    /// The different graces below a limit.
    func short(below limit: Duration) -> Set<Duration> {
        if names.isEmpty, queues.isEmpty, standard >= limit { return [] }
        return Set([standard] + names.values + queues.values).filter { $0 < limit }
    }

    /// - Throws: `OperationsError` for a time that is out of its range, or a queue that cannot have that name.
    func validate() throws(OperationsError) {
        try TimeLimit.check(standard, "the outage grace", least: .zero)
        for (name, grace) in names { try TimeLimit.check(grace, "the outage grace of \(name)", least: .zero) }
        for (queue, grace) in queues {
            try NameRule.check(queue, role: "queue")
            try TimeLimit.check(grace, "the outage grace of queue \(queue)", least: .zero)
        }
    }
}
