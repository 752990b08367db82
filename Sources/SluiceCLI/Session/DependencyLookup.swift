import Operations
import Sluice

/// Finds the queues of dependencies that are given without a queue.
struct DependencyLookup: Sendable {
    let client: SluiceClient

    /// Sets the queues of all dependencies that are not in the queue of their request.
    ///
    /// An id in another request of the batch refers to that request. Any other id is searched in all queues. A
    /// dependency that is not found stays unchanged, and its enqueue fails.
    ///
    /// - Throws: `CLIError` if an id is in several queues, with their names.
    func complete(_ requests: inout [EnqueueInput]) async throws {
        let open = Set(
            requests.flatMap { request in (request.operation.links?.after ?? []).filter { $0.queue == nil }.map(\.id) }
        )
        guard !open.isEmpty else { return }
        var queues = Dictionary(
            grouping: requests.filter { open.contains($0.operation.id) },
            by: \.operation.id
        ).mapValues { Set($0.map(\.queue)) }
        let stored = open.filter { queues[$0] == nil }.sorted()
        let findings = try await Locator(client).find(stored.map { IDReference(queue: nil, .full($0)) })
        for (id, finding) in zip(stored, findings) {
            switch finding {
            case .found(let location): queues[id] = [location.queue]
            case .ambiguous(let locations): queues[id] = Set(locations.map(\.queue))
            case .notFound: break
            }
        }
        for index in requests.indices {
            let own = requests[index].queue
            guard let after = requests[index].operation.links?.after else { continue }
            requests[index].operation.links?.after = try after.map { dependency in
                guard dependency.queue == nil, let queues = queues[dependency.id] else { return dependency }
                guard queues.count == 1, let queue = queues.first else {
                    throw Self.ambiguous(dependency.id, queues)
                }
                var dependency = dependency
                dependency.queue = queue == own ? nil : queue
                return dependency
            }
        }
    }

    /// Sets the queues of new dependencies of an existing operation.
    ///
    /// - Throws: `CLIError` if an id is in several queues, with their names.
    func complete(_ dependencies: [OperationDependency], of queue: String) async throws -> [OperationDependency] {
        let open = dependencies.filter { $0.queue == nil }.map(\.id)
        let findings = try await Locator(client).find(open.map { IDReference(queue: nil, .full($0)) })
        var queues: [OperationID: String] = [:]
        for (id, finding) in zip(open, findings) {
            switch finding {
            case .found(let location): queues[id] = location.queue
            case .ambiguous(let locations): throw Self.ambiguous(id, Set(locations.map(\.queue)))
            case .notFound: break
            }
        }
        return dependencies.map {
            OperationDependency($0.id, queue: $0.queue ?? queues[$0.id] ?? queue, onFailure: $0.policy)
        }
    }

    private static func ambiguous(_ id: OperationID, _ queues: Set<String>) -> CLIError {
        let names = queues.sorted().map { "\($0)/\(id)" }
        return .usage(
            "the operation to wait for, \(id), is in \(queues.count) queues: \(names.joined(separator: ", "))",
            fix: "--after \(names[0])"
        )
    }
}
