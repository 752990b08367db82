import Operations

// Calls by which one queue reports to another.
extension InMemoryBroker {
    package func link(_ ids: [OperationID], in queue: String, from dependentQueue: String) async throws -> [RemoteState]
    {
        run(queue) { $0.link(ids, from: dependentQueue) }
    }

    package func change(_ change: NeedsChange, by: String, queue: String) async throws -> NeedsOutcome {
        run(queue) { $0.change(change, by: by) }
    }

    package func relay(queue: String) async throws -> Relay? { run(queue) { $0.relay() } }

    package func resolve(_ states: [RemoteState], of source: String, queue: String) async throws {
        for start in stride(from: 0, to: states.count, by: QueueModel.resolvedByMessage) {
            let part = Array(states[start..<min(start + QueueModel.resolvedByMessage, states.count)])
            run(queue) { $0.resolve(part, of: source) }
        }
    }

    package func relayed(_ relay: Relay, queue: String) async throws -> Bool { run(queue) { $0.relayed(relay) } }

    package func ask(queue: String) async throws -> RemoteQuestions { run(queue) { $0.ask() } }

    package func edges(
        _ kind: DependencyEdges,
        of id: OperationID,
        limit: Int,
        queue: String
    ) async throws -> [DependencyName] {
        var names = read(queue) { $0.edges(kind, of: DependencyName(id)) }
        if kind == .dependents {
            for other in read(queue, { $0.dependentQueues[id] ?? [] }) {
                let found = read(other) { $0.edges(kind, of: DependencyName(id, queue: queue)) }
                names += found.map { DependencyName($0.id, queue: other) }
            }
        }
        return Array(names.sorted().prefix(limit))
    }
}

extension QueueModel {
    fileprivate func edges(_ kind: DependencyEdges, of name: DependencyName) -> [DependencyName] {
        switch kind {
        case .needs: name.queue == nil ? Array((needs[name.id] ?? [:]).keys) : []
        case .dependents: (dependents[name]?.entries ?? []).map { DependencyName($0.member) }
        }
    }
}
