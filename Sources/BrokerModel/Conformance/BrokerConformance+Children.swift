import Operations

// Operations that a body enqueues for the end of its run.
extension BrokerConformance {
    static let children: [ConformanceCheck] = [
        ConformanceCheck("Operations that a body enqueues for its completion start once, with the completion") {
            bench in
            let worker = try bench.worker()
            let run = try await bench.running(worker)
            let children = try await bench.children(2, of: run, worker)
            try bench.expect(try await bench.claim(worker, 9).operations.count, 0, "nothing can start")
            _ = try await bench.complete(run, worker)
            let started = try await bench.claim(worker, 9).operations.map(\.id)
            try bench.expect(started, children, "they start")
            try bench.expect(try await bench.complete(run, worker), .already, "a repeat")
            try bench.expect(try await bench.claim(worker, 9).operations.count, 0, "nothing can start")
        },
        ConformanceCheck("Any other end of a run removes its children; the next run's start with its completion") {
            bench in
            for end in RunEnd.allCases {
                let worker = try bench.worker()
                let run = try await bench.running(worker)
                let child = try await bench.children(1, of: run, worker)[0]
                try await bench.end(run, worker, end)
                try bench.expect(try await bench.detail(child) == nil, true, "after \(end), the child is there")
                guard end.comesBack else { continue }
                try await bench.advance(.seconds(10))
                let next = try bench.worker()
                let again = try await bench.claimOne(next)
                try bench.expect(again.id, run.id, "the operation again")
                let late = try await bench.enqueue(bench.operation(of: run, worker))
                try bench.expect(late, .staleRun, "what comes late of the run before")
                let other = try await bench.children(1, of: again, next)[0]
                _ = try await bench.complete(again, next)
                try bench.expect(try await bench.claimOne(next).id, other, "what starts")
                _ = try await bench.broker.remove([child], by: "ann", queue: bench.queue)
                try await bench.finishAll(next)
            }
        },
        ConformanceCheck("A child that comes after the end of its run is not enqueued") { bench in
            let worker = try bench.worker()
            let run = try await bench.running(worker)
            let group = try bench.operation(of: run, worker)
            try bench.expect(try await bench.enqueue(group), .created, "the outcome")
            _ = try await bench.fail(run, worker, .dead)
            let child = BrokerBench.child(of: DependencyName(group.id))
            try bench.expect(try await bench.enqueue(child), .closedGroup(group.id), "the outcome")
            let second = try bench.operation(of: run, worker)
            try bench.expect(try await bench.enqueue(second), .staleRun, "the outcome")
        },
        ConformanceCheck("A child in another queue starts or is removed when the end of the run is relayed") { bench in
            let there = BrokerBench(bench.broker, queue: BrokerBench.otherQueue) { try await bench.advance($0) }
            let worker = try bench.worker()
            for isCompleted in [true, false] {
                let run = try await bench.running(worker)
                let group = try bench.operation(of: run, worker)
                try bench.expect(try await bench.enqueue(group), .created, "the outcome")
                let name = DependencyName(group.id, queue: bench.queue)
                var child = BrokerBench.child(of: name)
                child.links?.said[name] = try await bench.broker.link(
                    [group.id],
                    in: bench.queue,
                    from: there.queue
                )[0]
                try bench.expect(try await there.enqueue(child), .created, "the outcome")
                try await there.expectState(child.id, .blocked)
                if isCompleted {
                    _ = try await bench.complete(run, worker)
                } else {
                    _ = try await bench.fail(run, worker, .dead)
                }
                if let error = await bench.broker.relayEnds(of: bench.queue).failure { throw error }
                let state = try await there.detail(child.id)?.state
                try bench.expect(state, isCompleted ? .ready : nil, "its state")
            }
        },
    ]
}

/// The ways in which a run ends without a completion.
private enum RunEnd: CaseIterable {
    case retry, dead, snooze, yield, given, cancelled, forced, lost

    var comesBack: Bool {
        switch self {
        case .retry, .snooze, .yield, .given, .lost: true
        case .dead, .cancelled, .forced: false
        }
    }
}

extension BrokerBench {
    /// Returns the group of a run. Operations that wait for this group start when the run completes.
    fileprivate func operation(of run: ClaimedOperation, _ worker: WorkerID) throws -> NewOperation {
        let claim = RunClaim(worker: worker, fence: run.fence, id: run.id)
        return NewOperation(envelope: BrokerBench.envelope(), links: OperationLinks(run: claim))
    }

    fileprivate static func child(of group: DependencyName) -> NewOperation {
        NewOperation(envelope: envelope(), links: OperationLinks(callback: GroupCallback(.success, of: group)))
    }

    fileprivate func enqueue(_ operation: NewOperation) async throws -> EnqueueOutcome {
        try only(try await broker.enqueue([operation], queue: queue))
    }

    fileprivate func children(_ count: Int, of run: ClaimedOperation, _ worker: WorkerID) async throws -> [OperationID]
    {
        let group = try operation(of: run, worker)
        let children = (0..<count).map { _ in BrokerBench.child(of: DependencyName(group.id)) }
        let outcomes = try await broker.enqueue([group] + children, queue: queue)
        try expect(outcomes, Array(repeating: .created, count: count + 1), "the outcomes")
        return children.map(\.id)
    }

    fileprivate func end(_ run: ClaimedOperation, _ worker: WorkerID, _ end: RunEnd) async throws {
        switch end {
        case .retry: _ = try await fail(run, worker, .retry(afterMilliseconds: 0))
        case .dead: _ = try await fail(run, worker, .dead)
        case .snooze: _ = try await fail(run, worker, .snoozed(milliseconds: 1, reason: ""))
        case .yield: _ = try await fail(run, worker, .yielded)
        case .given:
            let back = Return(fence: run.fence, id: run.id, place: .front)
            _ = try await broker.giveBack([back], worker: worker, queue: queue)
        case .cancelled: _ = try await fail(run, worker, .cancelled)
        case .forced:
            let request = CancelRequest(reason: "", by: "ann", isForced: true)
            _ = try await broker.cancel([run.id], request: request, queue: queue)
        case .lost:
            while try await broker.recoverWorker(worker: worker, queue: queue).more {}
        }
    }

    fileprivate func finishAll(_ worker: WorkerID) async throws {
        for operation in try await claim(worker, 9).operations { _ = try await complete(operation, worker) }
    }
}
