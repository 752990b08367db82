import Operations

// Dependencies that change before their operation starts.
extension BrokerConformance {
    static let changedDependencies: [ConformanceCheck] = [
        ConformanceCheck("A new dependency blocks a ready or scheduled operation until that dependency ends") { bench in
            let worker = try bench.worker()
            let first = try await bench.running(worker)
            let ready = try await bench.enqueue()[0]
            let later = try await bench.enqueue(delay: 60_000)[0]
            for id in [ready, later] {
                try await bench.expectChange(
                    NeedsChange(id, added: OperationLinks(after: [OperationDependency(first.id)]))
                )
                try await bench.expectState(id, .blocked)
            }
            try bench.expect(try await bench.claim(worker).operations.count, 0, "nothing can start")
            try bench.expect(try await bench.existing(first.id).links.dependents.count, 2, "what depends on it")
            _ = try await bench.complete(first, worker)
            try await bench.expectState(ready, .ready)
            try await bench.expectState(later, .scheduled)
            try bench.expect(try await bench.claimOne(worker).id, ready, "it starts once")
            try bench.expect(try await bench.claim(worker).operations.count, 0, "no reference is left behind")
        },
        ConformanceCheck("A new dependency that has finished blocks nothing; one that has failed cancels at once") {
            bench in
            let worker = try bench.worker()
            let (done, dead) = (try await bench.running(worker), try await bench.running(worker))
            _ = try await bench.complete(done, worker)
            _ = try await bench.fail(dead, worker, .dead)
            let ids = try await bench.enqueue(2)
            try await bench.expectChange(
                NeedsChange(ids[0], added: OperationLinks(after: [OperationDependency(done.id)]))
            )
            try await bench.expectState(ids[0], .ready)
            try await bench.expectChange(
                NeedsChange(ids[1], added: OperationLinks(after: [OperationDependency(dead.id)]))
            )
            try await bench.expectState(ids[1], .cancelled)
        },
        ConformanceCheck("An operation stops waiting for removed dependencies, and waits once for repeated ones") {
            bench in
            let ids = try await bench.enqueue(2)
            let last = try await bench.dependent(on: ids.map { OperationDependency($0) })
            try await bench.expectChange(
                NeedsChange(last, added: OperationLinks(after: ids.map { OperationDependency($0) }))
            )
            try bench.expect(try await bench.existing(last).links.unmetCount, 2, "what it waits for")
            try await bench.expectChange(NeedsChange(last, removed: [DependencyName(ids[0])]))
            try await bench.expectState(last, .blocked)
            try bench.expect(try await bench.existing(ids[0]).links.dependentCount, 0, "what depends on it")
            try await bench.expectChange(NeedsChange(last, removed: ids.map { DependencyName($0) }))
            try await bench.expectState(last, .ready)
        },
        ConformanceCheck("Another policy replaces the earlier one, and the answer names only new dependencies") {
            bench in
            let worker = try bench.worker()
            let first = try await bench.running(worker)
            let last = try await bench.dependent(on: [OperationDependency(first.id, onFailure: .hold)])
            _ = try await bench.fail(first, worker, .dead)
            try await bench.expectState(last, .blocked)
            let other = try await bench.enqueue()[0]
            let links = OperationLinks(after: [
                OperationDependency(first.id, onFailure: .run), OperationDependency(other),
            ])
            let added = NeedsOutcome.done(added: [DependencyName(other)])
            try await bench.expectChange(NeedsChange(last, added: links), added)
            try bench.expect(try await bench.existing(last).links.unmetCount, 1, "what it waits for")
            try await bench.expectChange(NeedsChange(last, added: links), .done(added: []))
        },
        ConformanceCheck("A late part of a producer's dependencies changes nothing once they are complete") { bench in
            let ids = try await bench.enqueue(2)
            let last = try await bench.dependent(on: [OperationDependency(ids[0])])
            let part = NeedsChange(last, added: OperationLinks(after: [OperationDependency(ids[1])]), part: .last)
            try await bench.expectChange(part, .notOpen)
            try bench.expect(try await bench.existing(last).links.needCount, 1, "what it depends on")
        },
        ConformanceCheck("A dependent on a reused id is not notified of the earlier operation's end") { bench in
            let worker = try bench.worker()
            let first = try await bench.enqueue()[0]
            for _ in 0..<60 { _ = try await bench.dependent(on: [OperationDependency(first, onFailure: .hold)]) }
            _ = try await bench.broker.remove([first], by: "ann", queue: bench.queue)
            _ = try await bench.broker.enqueue(
                [NewOperation(id: first, envelope: BrokerBench.envelope())],
                queue: bench.queue
            )
            let last = try await bench.dependent(on: [OperationDependency(first)])
            while try await bench.broker.sweep(queue: bench.queue).more {}
            try await bench.expectState(last, .blocked)
            _ = try await bench.complete(try await bench.claimOne(worker), worker)
            while try await bench.broker.sweep(queue: bench.queue).more {}
            try await bench.expectState(last, .ready)
        },
        ConformanceCheck("An open operation starts only once all its dependencies are named, or after a release") {
            bench in
            let worker = try bench.worker()
            let ids = try await bench.enqueue(2)
            var links = OperationLinks(after: [OperationDependency(ids[0])])
            links?.isOpen = true
            let (open, other) = (
                NewOperation(envelope: BrokerBench.envelope(), links: links),
                NewOperation(envelope: BrokerBench.envelope(), links: links)
            )
            _ = try await bench.broker.enqueue([open, other], queue: bench.queue)
            for id in ids {
                let claimed = try await bench.claimOne(worker)
                try bench.expect(claimed.id, id, "in their order")
                _ = try await bench.complete(claimed, worker)
            }
            try await bench.expectState(open.id, .blocked)
            let shown = try await bench.existing(open.id).links
            try bench.expect(shown.isOpen && shown.needCount == 1 && shown.unmetCount == 1, true, "it is open")
            let rest = NeedsChange(open.id, added: OperationLinks(after: [OperationDependency(ids[1])]), part: .last)
            try await bench.expectChange(rest)
            try await bench.expectState(open.id, .ready)
            _ = try await bench.broker.release([other.id], by: "ann", queue: bench.queue)
            try await bench.expectState(other.id, .ready)
        },
        ConformanceCheck("Running, held and unknown operations take no dependency; an unknown dependency adds nothing")
        { bench in
            let worker = try bench.worker()
            let first = try await bench.enqueue()[0]
            let running = try await bench.running(worker)
            let held = try await bench.enqueue()[0]
            _ = try await bench.broker.hold([held], by: "ann", reason: "", queue: bench.queue)
            let links = OperationLinks(after: [OperationDependency(held)])
            try await bench.expectChange(NeedsChange(running.id, added: links), .refused(.executing))
            try await bench.expectChange(
                NeedsChange(held, added: OperationLinks(after: [OperationDependency(first)])),
                .held
            )
            try await bench.expectChange(NeedsChange(OperationID(), added: links), .unknown)
            let unknown = OperationID()
            let wrong = OperationLinks(after: [OperationDependency(held), OperationDependency(unknown)])
            let waits = try await bench.enqueue()[0]
            try await bench.expectChange(NeedsChange(waits, added: wrong), .unknownDependency(unknown))
            try await bench.expectState(waits, .ready)
            try bench.expect(try await bench.existing(held).links.dependentCount, 0, "what depends on it")
        },
    ]
}

extension BrokerBench {
    /// - Parameter outcome: the expected outcome; nil = any `.done`.
    fileprivate func expectChange(_ change: NeedsChange, _ outcome: NeedsOutcome? = nil) async throws {
        let actual = try await broker.change(change, by: "ann", queue: queue)
        if outcome == nil, case .done = actual { return }
        try expect(actual, outcome ?? .done(added: []), "the outcome")
    }
}
