import Operations

/// A reference for the scheduler, written as simply as possible: each answer examines all operations.
struct ReferenceModel {
    struct Edge {
        let dependency: Int
        var policy: DependencyFailurePolicy
    }

    struct Operation {
        var state = OperationState.ready
        var queue: Int?
        var order = 0
        var section = 0
        var priority = OperationPriority.normal
        var attempts = 0
        var isCancelled = false
        /// Unresolved dependencies
        var edges: [Edge] = []
    }

    struct Queue {
        var limit: Int
        var isSuspended = false
        var section = 0
    }

    /// All operations that may still matter, by number
    var operations: [Int: Operation] = [:]
    var queues: [Queue]
    var order = 0

    func alive(in queue: Int) -> [Int] {
        operations.filter { $0.value.queue == queue && !$0.value.state.isTerminal }.map(\.key)
    }

    // MARK: Steps

    mutating func add(_ number: Int, to queue: Int, asBarrier: Bool) -> Bool {
        guard let operation = operations[number] else { return false }
        if operation.state == .cancelled { return true }
        guard operation.queue == nil, operation.attempts == 0 else { return false }
        let members = alive(in: queue)
        var section = queues[queue].section
        if asBarrier, members.contains(where: { operations[$0]?.section == section }) { section += 1 }
        let before = members.filter { (operations[$0]?.section ?? 0) < section }
        if before.contains(where: { waits($0, for: number) }) { return false }
        order += 1
        operations[number]?.queue = queue
        operations[number]?.order = order
        operations[number]?.section = section
        queues[queue].section = asBarrier ? section + 1 : section
        return true
    }

    mutating func addDependency(_ number: Int, on dependency: Int, _ policy: DependencyFailurePolicy) -> Bool {
        guard let operation = operations[number] else { return false }
        if number == dependency || waits(dependency, for: number) { return false }
        guard operation.attempts == 0, operation.state == .ready || operation.state == .blocked else { return false }
        if let known = operation.edges.firstIndex(where: { $0.dependency == dependency }) {
            operations[number]?.edges[known].policy = policy
        } else {
            operations[number]?.edges.append(Edge(dependency: dependency, policy: policy))
            operations[number]?.state = .blocked
        }
        if let state = operations[dependency]?.state, state.isTerminal { settle(number, dependency, state) }
        return true
    }

    mutating func removeDependency(_ number: Int, on dependency: Int) {
        guard operations[number]?.edges.contains(where: { $0.dependency == dependency }) == true else { return }
        resolve(number, dependency)
    }

    mutating func cancel(_ number: Int) {
        guard let state = operations[number]?.state, !state.isTerminal else { return }
        operations[number]?.isCancelled = true
        if state != .executing { end(number, .cancelled) }
    }

    mutating func cancelAll(_ queue: Int) {
        let members = alive(in: queue).sorted { (operations[$0]?.order ?? 0) > (operations[$1]?.order ?? 0) }
        for number in members { cancel(number) }
    }

    /// The operation that starts next
    func next(in queue: Int) -> Int? {
        let members = alive(in: queue)
        let executing = members.filter { operations[$0]?.state == .executing }.count
        guard !queues[queue].isSuspended, executing < queues[queue].limit else { return nil }
        let section = members.compactMap { operations[$0]?.section }.min()
        let startable = members.filter { operations[$0]?.state == .ready && operations[$0]?.section == section }
        return startable.min { isBefore($0, $1) }
    }

    mutating func start(_ number: Int) {
        operations[number]?.state = .executing
        operations[number]?.attempts += 1
    }

    mutating func conclude(_ number: Int, didReturn: Bool, retries: Bool) {
        if didReturn { return end(number, .finished) }
        if operations[number]?.isCancelled == true { return end(number, .cancelled) }
        if retries { operations[number]?.state = .retrying } else { end(number, .dead) }
    }

    // MARK: Rules

    private func isBefore(_ left: Int, _ right: Int) -> Bool {
        guard let left = operations[left], let right = operations[right] else { return false }
        return left.priority == right.priority ? left.order < right.order : left.priority > right.priority
    }

    mutating func end(_ number: Int, _ state: OperationState) {
        operations[number]?.state = state
        if state == .cancelled { operations[number]?.isCancelled = true }
        let dependents = operations.filter { $0.value.edges.contains { $0.dependency == number } }.keys
        for dependent in dependents { settle(dependent, number, state) }
    }

    private mutating func settle(_ number: Int, _ dependency: Int, _ state: OperationState) {
        guard let operation = operations[number], !operation.state.isTerminal,
            let edge = operation.edges.first(where: { $0.dependency == dependency })
        else { return }
        switch (state, edge.policy) {
        case (.finished, _), (_, .run): resolve(number, dependency)
        case (_, .hold): break
        case (_, .cancel): end(number, .cancelled)
        }
    }

    private mutating func resolve(_ number: Int, _ dependency: Int) {
        operations[number]?.edges.removeAll { $0.dependency == dependency }
        if operations[number]?.edges.isEmpty == true, operations[number]?.state == .blocked {
            operations[number]?.state = .ready
        }
    }

    /// Returns whether one operation waits for the other through dependencies or barriers.
    private func waits(_ number: Int, for other: Int) -> Bool {
        var seen: Set<Int> = [number]
        var front = [number]
        while let next = front.popLast() {
            for above in waitedFor(by: next) where seen.insert(above).inserted {
                if above == other { return true }
                front.append(above)
            }
        }
        return false
    }

    private func waitedFor(by number: Int) -> [Int] {
        guard let operation = operations[number], !operation.state.isTerminal else { return [] }
        let explicit = operation.edges.map(\.dependency)
        guard let queue = operation.queue else { return explicit }
        return explicit + alive(in: queue).filter { (operations[$0]?.section ?? 0) < operation.section }
    }
}
