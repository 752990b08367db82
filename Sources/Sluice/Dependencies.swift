import Operations

extension OperationReference: OperationDependencyConvertible {
    /// The operation as a dependency, with the policy `cancel`.
    public var dependency: OperationDependency { OperationDependency(id, queue: queue) }
}

extension OperationHandle: OperationDependencyConvertible {
    /// The operation as a dependency, with the policy `cancel`.
    public var dependency: OperationDependency { reference.dependency }
}

extension EnqueueOptions {
    /// Returns the dependencies, each once, after checking them.
    ///
    /// - Throws: `.invalidOption` for an untracked operation or too many dependencies; `.invalidName` for a queue name.
    func checkedDependencies() throws(OperationsError) -> [OperationDependency] {
        guard !dependencies.isEmpty else { return [] }
        guard tracked != false else {
            throw OperationsError(.invalidOption, "an untracked operation cannot wait for others: drop .untracked")
        }
        var policies: [DependencyName: DependencyFailurePolicy] = [:]
        for dependency in dependencies {
            if let queue = dependency.queue { try NameRule.check(queue, role: "queue") }
            policies[dependency.name] = dependency.policy
        }
        guard policies.count <= OperationLinks.mostDependencies else {
            throw OperationsError(
                .invalidOption,
                "an operation may have at most \(OperationLinks.mostDependencies) dependencies, "
                    + "not \(policies.count): use a group of these operations and wait for the group"
            )
        }
        return policies.map { OperationDependency($0.key.id, queue: $0.key.queue, onFailure: $0.value) }
            .sorted { $0.name < $1.name }
    }
}

/// The sending order of the operations of one enqueue: dependencies first, otherwise unchanged.
package enum DependencyOrder {
    /// - Parameter queue: returns the queue of the operation at an index; nil = the queue of the call.
    /// - Returns: the operations' indexes in sending order; nil if no operation has dependencies.
    /// - Throws: `.invalidOption` if operations wait for each other; the error names them.
    package static func places(
        _ operations: [NewOperation],
        queue: (Int) -> String? = { _ in nil }
    ) throws(OperationsError) -> [Int]? {
        guard operations.contains(where: { $0.links?.after.isEmpty == false }) else { return nil }
        let dependencies = dependencies(operations, queue: queue)
        var search = Search(dependencies: dependencies)
        for place in operations.indices {
            guard let cycle = search.visit(place) else { continue }
            let path = cycle.map { operations[$0].id.description }.joined(separator: " waits for ")
            throw OperationsError(
                .invalidOption,
                "these operations wait for each other: \(path): drop one of these dependencies"
            )
        }
        return search.order
    }

    /// Returns, for each operation, the indexes of its dependencies among these operations.
    package static func dependencies(_ operations: [NewOperation], queue: (Int) -> String?) -> [[Int]] {
        var places: [DependencyName: Int] = [:]
        for (place, operation) in operations.enumerated().reversed() {
            places[DependencyName(operation.id, queue: queue(place))] = place
        }
        return operations.enumerated().map { place, operation in
            (operation.links?.after ?? []).compactMap { places[DependencyName($0.id, queue: $0.queue ?? queue(place))] }
        }
    }

    /// A depth-first search without recursion, because a chain may have any length.
    private struct Search {
        enum Mark { case new, open, done }

        let dependencies: [[Int]]
        var marks: [Mark]
        var order: [Int] = []

        init(dependencies: [[Int]]) {
            self.dependencies = dependencies
            marks = Array(repeating: .new, count: dependencies.count)
        }

        /// - Returns: a cycle that is reachable from this index; nil if the search finds none.
        mutating func visit(_ start: Int) -> [Int]? {
            guard marks[start] == .new else { return nil }
            var path = [(place: start, next: 0)]
            marks[start] = .open
            while let (place, next) = path.last {
                guard next < dependencies[place].count else {
                    marks[place] = .done
                    order.append(place)
                    path.removeLast()
                    continue
                }
                path[path.count - 1].next += 1
                let dependency = dependencies[place][next]
                switch marks[dependency] {
                case .done: continue
                case .open: return path.map(\.place).drop { $0 != dependency } + [dependency]
                case .new:
                    marks[dependency] = .open
                    path.append((dependency, 0))
                }
            }
            return nil
        }
    }
}

extension ProducerBroker where Self: OperatorBroker {
    /// Enqueues operations that may depend on each other, and on operations of other queues.
    ///
    /// - Returns: the outcomes in the order of the operations.
    func enqueueWaiting(
        _ operations: [NewOperation],
        queue: String,
        progress: (Int) -> Void
    ) async throws -> [EnqueueOutcome] {
        guard operations.contains(where: { $0.links?.waitsForOthers == true }) else {
            return try await enqueueAll(operations, queue: queue, progress: progress)
        }
        var operations = operations
        for index in operations.indices { operations[index].nameDependencies(from: queue) }
        let places = try DependencyOrder.places(operations) ?? Array(operations.indices)
        operations = try await linked(operations, queue: queue)
        var rests: [Int: OperationLinks] = [:]
        for index in operations.indices { rests[index] = operations[index].takeRest() }
        let sorted = try await enqueueAll(places.map { operations[$0] }, queue: queue, progress: progress)
        var outcomes = sorted
        for (place, outcome) in zip(places, sorted) { outcomes[place] = outcome }
        for (index, rest) in rests where outcomes[index] == .created || outcomes[index] == .exists {
            let outcome = try await complete(operations[index].id, with: rest, queue: queue)
            if case .unknownDependency = outcome { outcomes[index] = outcome }
        }
        return outcomes
    }

    /// Adds the states of dependencies in other queues to the operations.
    private func linked(_ operations: [NewOperation], queue: String) async throws -> [NewOperation] {
        let said = try await said(of: operations.flatMap { $0.links?.remoteNeeds ?? [] }, queue: queue)
        guard !said.isEmpty else { return operations }
        return operations.map { operation in
            var operation = operation
            for dependency in operation.links?.remoteNeeds ?? [] {
                operation.links?.said[dependency.name] = said[dependency.name]
            }
            return operation
        }
    }

    /// Asks other queues for the states of dependencies there. From then on these queues report each end to this queue.
    ///
    /// - Throws: `.refused` if too many queues wait for one of the dependencies.
    func said(of dependencies: [OperationDependency], queue: String) async throws -> [DependencyName: RemoteState] {
        let names = Set(dependencies.filter { $0.queue != nil }.map(\.name))
        var said: [DependencyName: RemoteState] = [:]
        for (other, names) in Dictionary(grouping: names, by: \.queue) {
            guard let other else { continue }
            let ids = names.map(\.id)
            for start in stride(from: 0, to: ids.count, by: SluiceDefaults.batch) {
                let part = Array(ids[start..<min(start + SluiceDefaults.batch, ids.count)])
                for state in try await link(part, in: other, from: queue) {
                    said[DependencyName(state.id, queue: other)] = state
                }
            }
        }
        guard let (name, _) = said.first(where: { $0.value.status == .crowded }) else { return said }
        throw OperationsError(
            .refused,
            "operations of 64 queues already wait for \(name), which is the limit: "
                + "let an operation in one of these queues wait for it, and wait for that operation instead"
        )
    }
}

extension OperationLinks {
    /// Whether an enqueue has to look at other operations first.
    var needsOthers: Bool { !entering.isEmpty || waitsForOthers }

    fileprivate var waitsForOthers: Bool { !after.isEmpty || callback?.group.queue != nil }

    fileprivate var remoteNeeds: [OperationDependency] {
        let group = callback.map { [OperationDependency($0.group.id, queue: $0.group.queue)] } ?? []
        return (group + after).filter { $0.queue != nil }
    }
}

extension NewOperation {
    /// Removes the queue name from dependencies in the same queue, and merges duplicates: the last policy counts.
    fileprivate mutating func nameDependencies(from queue: String) {
        if links?.callback?.group.queue == queue { links?.callback?.group.queue = nil }
        guard let after = links?.after, after.contains(where: { $0.queue != nil }) else { return }
        var policies: [DependencyName: DependencyFailurePolicy] = [:]
        for dependency in after {
            policies[DependencyName(dependency.id, queue: dependency.queue == queue ? nil : dependency.queue)] =
                dependency.policy
        }
        links?.after = policies.map { OperationDependency($0.key.id, queue: $0.key.queue, onFailure: $0.value) }
            .sorted { $0.name < $1.name }
    }
}

// MARK: - More dependencies than a call can say

extension NewOperation {
    /// Takes out the dependencies that do not fit into one call. The operation cannot start before they are added.
    fileprivate mutating func takeRest() -> OperationLinks? {
        guard let links, links.after.count > OperationLinks.dependenciesOfACall else { return nil }
        var rest = links
        rest.after = Array(links.after.dropFirst(OperationLinks.dependenciesOfACall))
        self.links?.after = Array(links.after.prefix(OperationLinks.dependenciesOfACall))
        self.links?.isOpen = true
        return rest
    }
}

extension ProducerBroker where Self: OperatorBroker {
    /// Adds the rest of an operation's dependencies.
    ///
    /// - Returns: the outcome of the operation's enqueue.
    fileprivate func complete(_ id: OperationID, with rest: OperationLinks, queue: String) async throws
        -> EnqueueOutcome
    {
        let step = OperationLinks.dependenciesOfACall
        for start in stride(from: 0, to: rest.after.count, by: step) {
            var part = OperationLinks(after: Array(rest.after[start..<min(start + step, rest.after.count)]))
            part?.said = rest.said
            let change = NeedsChange(id, added: part, part: start + step >= rest.after.count ? .last : .part)
            switch try await self.change(change, by: "producer", queue: queue) {
            case .done: continue
            // The operation existed before the enqueue, or was removed, cancelled or released meanwhile.
            case .notOpen, .unknown, .refused, .otherKind: return .exists
            case .held:
                throw OperationsError(
                    .refused,
                    "operation \(id) was held before all its dependencies were stored: release it and add the rest",
                    id: id
                )
            case .tooMany:
                throw OperationsError(
                    .refused,
                    "operation \(id) has more than \(OperationLinks.mostDependencies) dependencies: "
                        + "use a group of some of them",
                    id: id
                )
            case .unknownDependency(let other):
                let reason = "dependency \(other) does not exist"
                _ = try await cancel([id], request: CancelRequest(reason: reason, by: "producer"), queue: queue)
                return .unknownDependency(other)
            }
        }
        return .created
    }
}
