import Operations

extension BrokerConformance {
    static let settling: [ConformanceCheck] = [
        ConformanceCheck("A completed operation is finished and has its result and its times") { bench in
            let worker = try bench.worker()
            let claimed = try await bench.running(worker)
            try await bench.advance(.milliseconds(250))
            try bench.expect(
                try await bench.complete(claimed, worker, result: #"{"a":9007199254740993}"#),
                .done(.finished),
                "the outcome"
            )
            let detail = try await bench.existing(claimed.id)
            try bench.expect(detail.state, .finished, "the state")
            try bench.expect(detail.result, Array(#"{"a":9007199254740993}"#.utf8), "the result")
            try bench.expect(detail.record.endedAt - detail.record.startedAt, 250, "its run")
            try bench.expect(detail.record.attempt, 1, "the attempt")
            try bench.expect(detail.worker, nil, "the owner")
        },
        ConformanceCheck("An operation that returned no result stores none") { bench in
            let worker = try bench.worker()
            let claimed = try await bench.running(worker)
            _ = try await bench.complete(claimed, worker)
            try bench.expect(try await bench.existing(claimed.id).result, nil, "the result")
        },
        ConformanceCheck("One call completes operations and claims the next") { bench in
            let worker = try bench.worker()
            try await bench.enqueue(2)
            try await bench.enqueue(2, tracked: false)
            let first = try await bench.claim(worker, 3).operations
            let completions = first.map { Completion(fence: $0.fence, id: $0.id, tracked: $0.header.tracked) }
            let reply = try await bench.broker.complete(
                completions,
                isRepeat: false,
                worker: worker,
                thenClaim: ClaimRequest(worker: worker, epoch: 0, capacity: 3),
                queue: bench.queue
            )
            try bench.expect(reply.outcomes, [.done(.finished), .done(.finished), .done(.finished)], "the outcomes")
            try bench.expect(reply.claim?.operations.count, 1, "claimed operations")
            try bench.expect(try await bench.snapshot().totals["finished"], 3, "the total of finished ones")
        },
        ConformanceCheck("Outcomes have the order of the completions, for tracked and untracked operations") { bench in
            let (worker, other) = (try bench.worker(), try bench.worker())
            let kinds = [true, false, false, true]
            var claimed: [ClaimedOperation] = []
            for tracked in kinds { claimed.append(try await bench.running(worker, tracked: tracked)) }
            try await bench.lapse(allBut: other)
            _ = try await bench.sweepAll()
            try bench.beat(worker)
            let again = try await bench.claim(worker, 2).operations  // the first two; the others' fences stay stale
            let mixed = again + claimed[2...]
            let completions = mixed.map { Completion(fence: $0.fence, id: $0.id, tracked: $0.header.tracked) }
            let reply = try await bench.broker.complete(
                completions.reversed(),
                isRepeat: false,
                worker: worker,
                thenClaim: nil,
                queue: bench.queue
            )
            try bench.expect(reply.outcomes, [.stale, .stale, .done(.finished), .done(.finished)], "the outcomes")
        },
        ConformanceCheck("A failed operation starts its next attempt after the pause, with delivery 1") { bench in
            let (worker, other) = (try bench.worker(), try bench.worker())
            _ = try await bench.running(worker)
            try await bench.lapse(allBut: other)
            _ = try await bench.sweepAll()
            let second = try await bench.claimOne(other)
            try bench.expect(second.header.delivery, 2, "the delivery after a lost worker")
            try bench.expect(
                try await bench.fail(second, other, .retry(afterMilliseconds: 3000)),
                .done(.retrying),
                "the outcome"
            )
            try await bench.expectState(second.id, .retrying)
            try await bench.advance(.milliseconds(2999))
            try bench.expect(try await bench.claim(other).operations.count, 0, "claimed before the pause ended")
            try await bench.advance(.milliseconds(1))
            let third = try await bench.claimOne(other)
            try bench.expect([third.attempt, third.header.delivery], [2, 1], "attempt and delivery")
        },
        ConformanceCheck("An operation that retries without a pause can be claimed at once") { bench in
            let worker = try bench.worker()
            let claimed = try await bench.running(worker)
            _ = try await bench.fail(claimed, worker, .retry(afterMilliseconds: 0))
            try bench.expect(try await bench.claimOne(worker).attempt, 2, "the attempt")
        },
        ConformanceCheck("A dead operation keeps its last ten errors, the oldest first") { bench in
            let worker = try bench.worker()
            var claimed = try await bench.running(worker)
            for number in 1...11 {
                _ = try await bench.fail(claimed, worker, .retry(afterMilliseconds: 0), error: "{\"n\":\(number)}")
                claimed = try await bench.claimOne(worker)
            }
            try bench.expect(
                try await bench.fail(claimed, worker, .dead, error: #"{"n":12}"#),
                .done(.dead),
                "the outcome"
            )
            let detail = try await bench.existing(claimed.id)
            try bench.expect(detail.state, .dead, "the state")
            try bench.expect(detail.record.attempt, 12, "the attempt")
            let errors = detail.errors.map { String(decoding: $0.error, as: UTF8.self) }
            try bench.expect(errors, (3...12).map { "{\"n\":\($0)}" }, "the errors")
        },
        ConformanceCheck("An untracked operation that fails gets a record, with its envelope and error") { bench in
            let worker = try bench.worker()
            let claimed = try await bench.running(worker, tracked: false)
            _ = try await bench.fail(claimed, worker, .retry(afterMilliseconds: 1000), error: #"{"type":"x"}"#)
            let detail = try await bench.existing(claimed.id)
            try bench.expect(detail.state, .retrying, "the state")
            try bench.expect(detail.record.envelope, claimed.envelope, "the envelope")
            try bench.expect(detail.errors.map(\.error), [Array(#"{"type":"x"}"#.utf8)], "the errors")
            try await bench.advance(.seconds(1))
            let again = try await bench.claimOne(worker)
            try bench.expect(
                [again.attempt, again.header.tracked ? 1 : 0],
                [2, 1],
                "attempt, and whether it is tracked"
            )
            try bench.expect(again.envelope, claimed.envelope, "the envelope")
            try bench.expect(try await bench.complete(again, worker), .done(.finished), "the completion")
            try await bench.expectState(claimed.id, .finished)
        },
        ConformanceCheck("An untracked operation that dies gets a record") { bench in
            let worker = try bench.worker()
            let claimed = try await bench.running(worker, tracked: false)
            try bench.expect(try await bench.fail(claimed, worker, .dead), .done(.dead), "the outcome")
            try await bench.expectState(claimed.id, .dead)
        },
        ConformanceCheck("Giving back to the front changes neither attempt nor delivery") { bench in
            let worker = try bench.worker()
            for tracked in [true, false] {
                let claimed = try await bench.running(worker, tracked: tracked)
                try bench.expect(try await bench.giveBack(claimed, worker), .done(.ready), "the outcome")
                let again = try await bench.claimOne(worker)
                try bench.expect(again.id, claimed.id, "the operation")
                try bench.expect(again.header, claimed.header, "the header")
                try bench.expect(again.envelope, claimed.envelope, "the envelope")
            }
        },
        ConformanceCheck("Giving back for later schedules an operation and changes neither attempt nor delivery") {
            bench in
            let worker = try bench.worker()
            for tracked in [true, false] {
                let claimed = try await bench.running(worker, tracked: tracked)
                let outcome = try await bench.giveBack(claimed, worker, .later(milliseconds: 2000))
                try bench.expect(outcome, .done(.scheduled), "the outcome")
                try await bench.expectState(claimed.id, .scheduled)
                try bench.expect(try await bench.claim(worker).operations.count, 0, "claimed before its time")
                try await bench.advance(.seconds(2))
                let again = try await bench.claimOne(worker)
                try bench.expect([again.attempt, again.header.delivery], [1, 1], "attempt and delivery")
                _ = try await bench.complete(again, worker)
            }
        },
    ]

    /// Repeats of calls whose reply was lost.
    static let repeating: [ConformanceCheck] =
        [
            ConformanceCheck("A repeated completion is 'already', changes nothing, and claims nothing") { bench in
                let worker = try bench.worker()
                let claimed = try await bench.running(worker)
                try await bench.enqueue()
                _ = try await bench.complete(claimed, worker, result: "1")
                let before = try await bench.existing(claimed.id)
                let completion = Completion(
                    fence: claimed.fence,
                    id: claimed.id,
                    tracked: true,
                    result: Array("1".utf8)
                )
                let reply = try await bench.broker.complete(
                    [completion],
                    isRepeat: true,
                    worker: worker,
                    thenClaim: ClaimRequest(worker: worker, epoch: 0, capacity: 1),
                    queue: bench.queue
                )
                try bench.expect(reply.outcomes, [.already], "the outcomes")
                try bench.expect(reply.claim, nil, "the claim")
                try bench.expect(try await bench.existing(claimed.id), before, "the operation")
            },
            ConformanceCheck("A repeated completion of an untracked operation changes nothing") { bench in
                let worker = try bench.worker()
                let claimed = try await bench.running(worker, tracked: false)
                _ = try await bench.complete(claimed, worker)
                let completion = Completion(fence: claimed.fence, id: claimed.id, tracked: false)
                let reply = try await bench.broker.complete(
                    [completion],
                    isRepeat: true,
                    worker: worker,
                    thenClaim: nil,
                    queue: bench.queue
                )
                try bench.expect(reply.outcomes, [.stale], "the outcomes")
                try bench.expect(try await bench.snapshot().totals["finished"], 1, "the total of finished ones")
            },
        ]
        + [
            Failure.Disposition.retry(afterMilliseconds: 5000), .dead, .cancelled,
            .snoozed(milliseconds: 5000, reason: "later"), .yielded,
        ].map { disposition in
            ConformanceCheck("A repeated failure (\(disposition.word)) is 'already' and changes nothing") { bench in
                for tracked in [true, false] {
                    let worker = try bench.worker()
                    let claimed = try await bench.running(worker, tracked: tracked)
                    _ = try await bench.fail(claimed, worker, disposition)
                    let before = try await bench.existing(claimed.id)
                    try bench.expect(try await bench.fail(claimed, worker, disposition), .already, "the outcome")
                    try bench.expect(try await bench.existing(claimed.id), before, "the operation")
                }
            }
        }
        + [Return.Place.front, .later(milliseconds: 5000), .unhandled(name: "x", orLaterMilliseconds: 0)].map { place in
            ConformanceCheck("A repeated giving back (\(place.word)) is 'already' and changes nothing") { bench in
                let worker = try bench.worker()
                let claimed = try await bench.running(worker)
                _ = try await bench.giveBack(claimed, worker, place)
                let before = try await bench.existing(claimed.id)
                try bench.expect(try await bench.giveBack(claimed, worker, place), .already, "the outcome")
                try bench.expect(try await bench.existing(claimed.id), before, "the operation")
                let snapshot = try await bench.snapshot()
                let waiting = (snapshot.counts[.ready] ?? 0) + (snapshot.counts[.scheduled] ?? 0)
                try bench.expect(waiting, 1, "waiting operations")
            }
        }
        + [
            ConformanceCheck("A repeated cancel, retry, remove, pause, sweep, reconcile, retire changes nothing more") {
                bench in
                let worker = try bench.worker()
                let ids = try await bench.enqueue(2)
                try bench.expect(try await bench.cancel(ids[0]), .cancelled, "the first cancel")
                let cancelled = try await bench.existing(ids[0])
                let ended = CancelOutcome.ended(.cancelled, at: cancelled.record.endedAt)
                try bench.expect(try await bench.cancel(ids[0]), ended, "the second cancel")
                try bench.expect(try await bench.existing(ids[0]), cancelled, "the operation")
                _ = try await bench.broker.retry([ids[0]], by: "tester", queue: bench.queue)
                let again = try await bench.broker.retry([ids[0]], by: "tester", queue: bench.queue)
                try bench.expect(again, [.refused(.ready)], "the second retry")
                _ = try await bench.broker.remove([ids[1]], by: "tester", queue: bench.queue)
                try bench.expect(
                    try await bench.broker.remove([ids[1]], by: "tester", queue: bench.queue),
                    [.unknown],
                    "the second removal"
                )
                for _ in 1...2 {
                    try await bench.broker.setPaused(.pause(by: "tester"), queue: bench.queue)
                    try bench.expect(try await bench.broker.sweep(queue: bench.queue), SweepReply(), "the sweep")
                    try await bench.broker.retire(worker: worker, statistics: [], queue: bench.queue)
                }
                try bench.expect(try await bench.snapshot().counts[.ready], 1, "ready operations")
            }
        ]
}

extension Failure.Disposition {
    var word: String {
        switch self {
        case .retry: "retry"
        case .dead: "dead"
        case .cancelled: "cancelled"
        case .cancelledByStanding: "cancelled by a standing cancel"
        case .snoozed: "snoozed"
        case .yielded: "yielded"
        }
    }
}

extension Return.Place {
    var word: String {
        switch self {
        case .front: "front"
        case .later: "later"
        case .unhandled: "unhandled"
        }
    }
}
