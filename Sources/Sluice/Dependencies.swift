import Operations

extension OperationReference: DependencyConvertible {
    /// The operation as something to wait for, with the policy `cancel`.
    public var dependency: Dependency { Dependency(id, queue: queue) }
}

extension OperationHandle: DependencyConvertible {
    /// The operation as something to wait for, with the policy `cancel`.
    public var dependency: Dependency { reference.dependency }
}

extension EnqueueOptions {
    /// Starts an operation only when others have ended. It is `blocked` until then.
    ///
    /// ```swift
    /// let page = try await sluice.enqueue(Fetch(url: url))
    /// let index = try await sluice.enqueue(Index(url: url), .after(page))
    /// try await sluice.enqueue(CleanUp(url: url), .after(page.onFailure(.run), index.onFailure(.run)))
    /// ```
    ///
    /// If one of them does not finish, its policy decides: `cancel` ends this operation as well, with all that depends on it; `run` starts it all the
    /// same; `hold` leaves it blocked until the dependency is tried again and finishes, or the operation is released or cancelled. What has ended
    /// already counts at once. Among operations of one enqueue the order does not matter.
    ///
    /// - Parameter dependencies: tracked operations of the same queue, at most 500 in all: handles, references, ids, or one of these
    ///   with a policy, `page.onFailure(.run)`. Those of several options add up; of one operation the last policy counts.
    public static func after(_ dependencies: any DependencyConvertible...) -> EnqueueOptions {
        waiting(for: dependencies.map(\.dependency))
    }

    /// Starts an operation only when others have ended; see `after(_:)`.
    ///
    /// - Parameter dependencies: as of `after(_:)`, any number of one kind.
    public static func after<Dependencies: Sequence>(_ dependencies: Dependencies) -> EnqueueOptions
    where Dependencies.Element: DependencyConvertible {
        waiting(for: dependencies.map(\.dependency))
    }

    private static func waiting(for dependencies: [Dependency]) -> EnqueueOptions {
        var options = EnqueueOptions()
        options.dependencies = dependencies
        return options
    }
}

extension EnqueueOptions {
    /// What the operation waits for, each once.
    ///
    /// - Throws: `.invalidOption`.
    func checkedDependencies() throws(OperationsError) -> [Dependency] {
        guard !dependencies.isEmpty else { return [] }
        guard tracked != false else {
            throw OperationsError(.invalidOption, "an untracked operation cannot wait for others: drop .untracked")
        }
        if let other = dependencies.first(where: { $0.queue.map { $0 != queueName } ?? false }) {
            throw OperationsError(
                .invalidOption,
                "\(other.id) is in queue \(OperationsError.quoted(other.queue ?? "")): an operation of queue "
                    + "\(OperationsError.quoted(queueName)) can wait for those of its own queue only"
            )
        }
        var policies: [OperationID: DependencyFailurePolicy] = [:]
        for dependency in dependencies { policies[dependency.id] = dependency.policy }
        guard policies.count <= OperationLinks.mostDependencies else {
            throw OperationsError(
                .invalidOption,
                "an operation waits for at most \(OperationLinks.mostDependencies) others, not \(policies.count): let others between them wait for some each"
            )
        }
        return policies.map { Dependency($0.key, onFailure: $0.value) }.sorted { $0.id < $1.id }
    }
}

/// The order in which operations of one enqueue go to Redis: each behind those that it waits for, otherwise as they are.
package enum DependencyOrder {
    /// - Returns: the operations' places in their order; nil = they may go as they are.
    /// - Throws: `.invalidOption` if they wait for each other, naming those that do.
    package static func places(_ operations: [NewOperation]) throws(OperationsError) -> [Int]? {
        guard operations.contains(where: { $0.links?.after.isEmpty == false }) else { return nil }
        var places: [OperationID: Int] = [:]
        for (place, operation) in operations.enumerated() where places[operation.id] == nil {
            places[operation.id] = place
        }
        var search = Search(dependencies: operations.map { ($0.links?.after ?? []).compactMap { places[$0.id] } })
        for place in operations.indices {
            guard let cycle = search.visit(place) else { continue }
            let path = cycle.map { operations[$0].id.description }.joined(separator: " waits for ")
            throw OperationsError(.invalidOption, "these operations wait for each other: \(path)")
        }
        return search.order
    }

    /// Depth first, without recursion: a chain may have any length.
    private struct Search {
        enum Mark { case new, open, done }

        let dependencies: [[Int]]
        var marks: [Mark]
        var order: [Int] = []

        init(dependencies: [[Int]]) {
            self.dependencies = dependencies
            marks = Array(repeating: .new, count: dependencies.count)
        }

        /// - Returns: a cycle, if there is one behind this place.
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

extension ProducerBroker {
    /// Enqueues operations that may wait for each other.
    ///
    /// - Returns: the outcomes in the order of the operations.
    func enqueueInOrder(
        _ operations: [NewOperation],
        queue: String,
        progress: (Int) -> Void
    ) async throws -> [EnqueueOutcome] {
        guard let places = try DependencyOrder.places(operations) else {
            return try await enqueueAll(operations, queue: queue, progress: progress)
        }
        let sorted = try await enqueueAll(places.map { operations[$0] }, queue: queue, progress: progress)
        var outcomes = sorted
        for (place, outcome) in zip(places, sorted) { outcomes[place] = outcome }
        return outcomes
    }
}
