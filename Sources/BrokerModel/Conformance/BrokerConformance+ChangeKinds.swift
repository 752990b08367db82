import Operations

// The states in which an operation can be changed.
extension BrokerConformance {
    static let changeKinds: [ConformanceCheck] = [
        ConformanceCheck("Hold, release, retry and remove are possible in exactly the states of their kind") { bench in
            for kind in ChangeKind.allCases where kind != .cancel {
                let worker = try bench.worker()
                // A ready operation comes last: a worker would take it.
                for state in OperationState.allCases.filter({ $0 != .ready }) + [.ready] {
                    let id = try await bench.operation(in: state, worker)
                    let outcome = try bench.only(try await bench.change(kind, id))
                    let isPossible = kind.allowed.contains(state)
                    try bench.expect(outcome, isPossible ? .done : .refused(state), "\(kind.verb) when \(state)")
                }
                _ = try await bench.cancelQueue()
                _ = try await bench.sweepAll()
            }
        }
    ]
}

extension BrokerBench {
    fileprivate func change(_ kind: ChangeKind, _ id: OperationID) async throws -> [ChangeOutcome] {
        switch kind {
        case .cancel: []
        case .hold: try await broker.hold([id], by: "ann", reason: "", queue: queue)
        case .release: try await broker.release([id], by: "ann", queue: queue)
        case .retry: try await broker.retry([id], by: "ann", queue: queue)
        case .remove: try await broker.remove([id], by: "ann", queue: queue)
        }
    }

    /// Makes an operation in a state.
    fileprivate func operation(in state: OperationState, _ worker: WorkerID) async throws -> OperationID {
        let id: OperationID
        switch state {
        case .ready: id = try await enqueue()[0]
        case .scheduled: id = try await enqueue(delay: 60_000)[0]
        case .blocked:
            id = try await enqueue()[0]
            _ = try await broker.hold([id], by: "ann", reason: "", queue: queue)
        case .executing: id = try await running(worker).id
        case .retrying, .dead:
            let claimed = try await running(worker)
            _ = try await fail(claimed, worker, state == .dead ? .dead : .retry(afterMilliseconds: 60_000))
            id = claimed.id
        case .finished:
            let claimed = try await running(worker)
            _ = try await complete(claimed, worker)
            id = claimed.id
        case .cancelled:
            id = try await enqueue(delay: 60_000)[0]
            _ = try await cancel(id)
        case .expired:
            id = try await enqueue(expires: 100)[0]
            try await advance(.milliseconds(101))
            _ = try await sweepAll()
        }
        try await expectState(id, state)
        return id
    }
}
