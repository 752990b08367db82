/// Searches the graph of operations that wait for each other.
///
/// The search alternates between both ends, and stops when one end is exhausted. A graph that is built in order,
/// forwards or backwards, has one short end at each step. So 20,000 links cost 20,000 steps and not their square.
struct DependencyPath {
    /// The operations that the dependency waits for, directly or indirectly. The value is the operation from which one
    /// was reached.
    private var upstream: [ObjectIdentifier: LocalOperation?] = [:]
    private var downstream: [ObjectIdentifier: LocalOperation?] = [:]
    private var upstreamFront: [LocalOperation]
    private var downstreamFront: [LocalOperation]

    private init(from dependent: LocalOperation, to dependency: LocalOperation) {
        upstreamFront = [dependency]
        downstreamFront = [dependent]
        upstream[ObjectIdentifier(dependency)] = .some(nil)
        downstream[ObjectIdentifier(dependent)] = .some(nil)
    }

    /// Throws if `dependency` waits for `dependent`, so that a link between them would close a cycle.
    static func refuseCycle(from dependent: LocalOperation, to dependency: LocalOperation) throws(OperationsError) {
        // Most links are added in order, so that one end has no neighbours.
        if dependent !== dependency, dependent.isLast || dependency.isFirst { return }
        var path = DependencyPath(from: dependent, to: dependency)
        guard let meeting = dependent === dependency ? dependent : path.search() else { return }
        throw refusal("this dependency closes a cycle", path.names(over: meeting))
    }

    /// Throws if an operation before a barrier of the queue waits for this one, which would come after the barrier.
    static func refuseWaitingBehindBarrier(
        _ operation: LocalOperation,
        _ core: QueueCore,
        asBarrier: Bool
    ) throws(OperationsError) {
        let own = core.scheduler.withLock { scheduler -> UInt32? in
            let number = scheduler.sectionNumber(asBarrier: asBarrier)
            return number == scheduler.sections.number ? nil : number
        }
        guard let own else { return }
        var path = DependencyPath(from: operation, to: operation)
        while let next = path.downstreamFront.popLast() {
            if next.core === core, let section = next.sectionInQueue, section < own {
                throw refusal("the operation would wait behind a barrier that waits for it", path.names(over: next))
            }
            path.expandDownstream(next)
        }
    }

    private static func refusal(_ what: String, _ names: [String]) -> OperationsError {
        OperationsError(.refused, "\(what): \(names.joined(separator: " → ")) (each waits for the next)")
    }

    /// - Returns: an operation that both ends have reached; nil = none.
    private mutating func search() -> LocalOperation? {
        while let below = downstreamFront.popLast() {
            if let meeting = expandDownstream(below) { return meeting }
            guard let above = upstreamFront.popLast() else { return nil }
            if let meeting = expandUpstream(above) { return meeting }
        }
        return nil
    }

    @discardableResult
    private mutating func expandDownstream(_ operation: LocalOperation) -> LocalOperation? {
        for next in operation.awaitedBy where downstream[ObjectIdentifier(next)] == nil {
            // An ended operation waits for nothing, but its links may still exist on both sides.
            if next.isFinished { continue }
            downstream[ObjectIdentifier(next)] = .some(operation)
            if upstream[ObjectIdentifier(next)] != nil { return next }
            downstreamFront.append(next)
        }
        return nil
    }

    private mutating func expandUpstream(_ operation: LocalOperation) -> LocalOperation? {
        for next in operation.waitsFor where upstream[ObjectIdentifier(next)] == nil {
            if next.isFinished { continue }
            upstream[ObjectIdentifier(next)] = .some(operation)
            if downstream[ObjectIdentifier(next)] != nil { return next }
            upstreamFront.append(next)
        }
        return nil
    }

    /// Returns the names of the cycle from the dependent over the meeting point and back. A long cycle is cut in the
    /// middle.
    private func names(over meeting: LocalOperation) -> [String] {
        var above: [LocalOperation] = []
        var current: LocalOperation? = upstream[ObjectIdentifier(meeting)].map { _ in meeting }
        while let operation = current {
            above.append(operation)
            current = upstream[ObjectIdentifier(operation)] ?? nil
        }
        var below: [LocalOperation] = []
        current = downstream[ObjectIdentifier(meeting)] ?? nil
        while let operation = current {
            below.append(operation)
            current = downstream[ObjectIdentifier(operation)] ?? nil
        }
        let chain = above.reversed() + below
        let names = ([below.last ?? meeting] + chain).map { $0.name ?? "#\($0.sequenceForPeople)" }
        guard names.count > 12 else { return names }
        return names.prefix(6) + ["… (\(names.count - 12) more)"] + names.suffix(6)
    }
}

extension LocalOperation {
    /// The operation's section in a queue; nil outside of a queue and after the end.
    fileprivate var sectionInQueue: UInt32? {
        locked { _ in isQueued && !guardedState.isTerminal ? section : nil }
    }

    var sequenceForPeople: UInt64 { locked { _ in sequence } }

    /// Whether certainly no operation waits for this one.
    fileprivate var isLast: Bool {
        locked { scheduler in (links?.dependents.isEmpty ?? true) && scheduler.hasOneSection }
    }

    /// Whether this operation certainly waits for no other.
    fileprivate var isFirst: Bool {
        locked { scheduler in (links?.dependencies.isEmpty ?? true) && scheduler.hasOneSection }
    }

    /// The operations that this one waits for: its dependencies and, after a barrier, all earlier operations.
    fileprivate var waitsFor: [LocalOperation] {
        locked { scheduler in
            guard !guardedState.isTerminal else { return [] }
            return openDependencies + scheduler.neighbours(of: self, after: false)
        }
    }

    fileprivate var awaitedBy: [LocalOperation] {
        locked { scheduler in
            guard !guardedState.isTerminal else { return [] }
            return (links?.dependents.map(\.operation) ?? []) + scheduler.neighbours(of: self, after: true)
        }
    }
}

extension Scheduler {
    fileprivate var hasOneSection: Bool { sections.lastNumber == sections.number }

    /// Returns the operations of the section before or after that of an operation; empty without barriers.
    func neighbours(of operation: LocalOperation, after: Bool) -> [LocalOperation] {
        guard operation.isQueued, sections.lastNumber != sections.number else { return [] }
        var number = operation.section
        while after ? number < sections.lastNumber : number > sections.number {
            number = after ? number + 1 : number - 1
            var found: [LocalOperation] = []
            sections[number].collect(into: &found)
            if !found.isEmpty { return found }
        }
        return []
    }
}
