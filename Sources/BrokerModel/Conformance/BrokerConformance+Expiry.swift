import Operations

// An operation that waits beyond its deadline is expired for every reader and every change, even if nothing is claimed.
extension BrokerConformance {
    static let expiring: [ConformanceCheck] = [
        ConformanceCheck("An operation that waits beyond its deadline shows as expired at once and frees its key") {
            bench in
            let first = bench.unique("key", .join, expires: 1000)
            try bench.expect(try await bench.broker.enqueue([first], queue: bench.queue), [.created], "the first")
            try await bench.advance(.milliseconds(1000))
            try await bench.expectState(first.id, .expired)
            let awaited = try await bench.broker.awaitEnd(of: [first.id], queue: bench.queue, timeout: .zero)
            try bench.expect(awaited, [.expired], "the states that a waiting client gets")
            let second = try await bench.enqueueNew("key", .join)
            try await bench.expectState(first.id, .expired)
            try await bench.expectState(second, .ready)
            try bench.expect(try await bench.claim(try bench.worker(), 9).operations.map(\.id), [second], "the claim")
        },
        ConformanceCheck("The key of an expired holder goes to the next operation that has not expired") { bench in
            let holder = bench.unique("key", .enqueue, expires: 1000)
            let next = bench.unique("key", .enqueue, expires: 5000)
            let last = bench.unique("key", .enqueue, expires: 1000)
            let outcomes = try await bench.broker.enqueue([holder, next, last], queue: bench.queue)
            try bench.expect(outcomes, [.created, .created, .created], "the outcomes")
            try await bench.advance(.milliseconds(1000))
            try bench.expect(try await bench.enqueue("key", .join).outcome, .taken(by: next.id), "the next one has it")
            try await bench.expectState(next.id, .ready)
            try await bench.expectState(last.id, .expired)
        },
        ConformanceCheck("An expired operation can be retried, but not cancelled or held") { bench in
            let ids = try await bench.enqueue(3, expires: 1000)
            try await bench.advance(.milliseconds(1000))
            let request = CancelRequest(reason: "", by: "ann")
            let cancelled = try await bench.broker.cancel([ids[0]], request: request, queue: bench.queue)
            guard case .ended(.expired, _) = cancelled[0] else {
                throw ConformanceViolation(description: "expected .ended(.expired), got \(cancelled)")
            }
            let held = try await bench.broker.hold([ids[1]], by: "ann", reason: "", queue: bench.queue)
            try bench.expect(held, [.refused(.expired)], "the hold")
            let retried = try await bench.broker.retry([ids[2]], by: "ann", queue: bench.queue)
            try bench.expect(retried, [.done], "the retry")
            try bench.expect(try await bench.claim(try bench.worker(), 9).operations.map(\.id), [ids[2]], "the claim")
        },
        ConformanceCheck("In a paused queue a sweep ends expired operations and their groups") { bench in
            let worker = try bench.worker()
            let group = try await bench.group()
            let links = OperationLinks(groups: [group])
            let member = NewOperation(expiresMilliseconds: 1000, envelope: BrokerBench.envelope(), links: links)
            try bench.expect(try await bench.broker.enqueue([member], queue: bench.queue), [.created], "the member")
            try await bench.close(group)
            try await bench.broker.setPaused(.pause(by: "ann"), queue: bench.queue)
            try bench.expect(try bench.beat(worker).sweepDue, false, "nothing is overdue")
            try await bench.advance(.milliseconds(1000))
            try bench.expect(try bench.beat(worker).sweepDue, true, "a sweep is due")
            while try await bench.broker.sweep(queue: bench.queue).more {}
            try await bench.expectState(member.id, .expired)
            try await bench.expectState(group, .dead)
            try bench.expect(try bench.beat(worker).sweepDue, false, "nothing is left")
        },
    ]
}
