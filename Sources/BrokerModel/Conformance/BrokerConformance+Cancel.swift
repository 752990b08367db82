import Operations

extension BrokerConformance {
    static let cancelling: [ConformanceCheck] = [
        ConformanceCheck("A cancelled waiting operation ends at once and never starts") { bench in
            let worker = try bench.worker()
            let retrying = try await bench.running(worker)
            _ = try await bench.fail(retrying, worker, .retry(afterMilliseconds: 1000))
            let ids = try await bench.enqueue() + bench.enqueue(delay: 1000) + [retrying.id]
            let kept = try await bench.enqueue(2)
            for id in ids {
                try bench.expect(try await bench.cancel(id), .cancelled, "the outcome")
                let detail = try await bench.existing(id)
                try bench.expect(detail.state, .cancelled, "the state")
                let now = try await bench.snapshot().time
                let trace = CancelTrace(requestedAt: now, stoppedAt: now, reason: "no need", by: "tester")
                try bench.expect(detail.cancel, trace, "the trace")
            }
            try await bench.advance(.seconds(2))
            try bench.expect(try await bench.claim(worker, 9).operations.map(\.id), kept, "claimed operations")
        },
        ConformanceCheck("A running operation's cancel has three times: requested, acknowledged, stopped") { bench in
            let worker = try bench.worker()
            let claimed = try await bench.running(worker)
            let start = try await bench.snapshot().time
            let outcome = try await bench.cancel(claimed.id)
            try bench.expect(outcome, .requested(worker: worker.description), "the outcome")
            try await bench.expectState(claimed.id, .executing)
            let request = OperationCancellation(reason: "no need", by: "tester", requestedAt: start)
            let fenced = FencedCancel(fence: claimed.fence, request)
            try bench.expect(try bench.beat(worker).cancels, [fenced], "the cancel requests of a heartbeat")
            try await bench.advance(.seconds(1))
            try bench.expect(try await bench.report(claimed, worker, .cancelAcknowledged), true, "the report")
            try await bench.advance(.seconds(1))
            try bench.expect(try await bench.fail(claimed, worker, .cancelled, error: ""), .done(.cancelled), "the end")
            let expected = CancelTrace(
                requestedAt: start,
                acknowledgedAt: start + 1000,
                stoppedAt: start + 2000,
                reason: "no need",
                by: "tester"
            )
            try bench.expect(try await bench.existing(claimed.id).cancel, expected, "the trace")
            try bench.expect(try bench.beat(worker).cancels, [], "the cancel requests of a heartbeat after the end")
        },
        ConformanceCheck("A second cancel request for a running operation keeps the time and reason of the first") {
            bench in
            let worker = try bench.worker()
            let claimed = try await bench.running(worker)
            _ = try await bench.cancel(claimed.id)
            let first = try await bench.existing(claimed.id).cancel
            try await bench.advance(.seconds(1))
            let again = CancelRequest(reason: "really", by: "other")
            let outcomes = try await bench.broker.cancel([claimed.id], request: again, queue: bench.queue)
            try bench.expect(outcomes, [.requested(worker: worker.description)], "the outcome")
            try bench.expect(try await bench.existing(claimed.id).cancel, first, "the trace")
            try bench.expect(try bench.beat(worker).cancels.map(\.cancellation.reason), ["no need"], "the reasons")
        },
        ConformanceCheck("An operation with a requested cancel is not retried") { bench in
            let worker = try bench.worker()
            let claimed = try await bench.running(worker)
            _ = try await bench.cancel(claimed.id)
            let outcome = try await bench.fail(claimed, worker, .retry(afterMilliseconds: 0))
            try bench.expect(outcome, .done(.cancelled), "the outcome")
            let deadly = try await bench.running(worker)
            _ = try await bench.cancel(deadly.id)
            try bench.expect(try await bench.fail(deadly, worker, .dead), .done(.cancelled), "the outcome of a death")
            try await bench.advance(.seconds(60))
            try bench.beat(worker)
            try bench.expect(try await bench.claim(worker).operations.count, 0, "claimed operations")
        },
        ConformanceCheck("An operation with a requested cancel ends as cancelled when it is given back") { bench in
            let worker = try bench.worker()
            for place in [Return.Place.front, .later(milliseconds: 10)] {
                for tracked in [true, false] {
                    let claimed = try await bench.running(worker, tracked: tracked)
                    _ = try await bench.cancel(claimed.id)
                    try bench.expect(try await bench.giveBack(claimed, worker, place), .done(.cancelled), "the outcome")
                    try bench.expect(try await bench.existing(claimed.id).cancel?.reason, "no need", "the reason")
                }
            }
        },
        ConformanceCheck("An operation that completes in spite of a cancel request is finished") { bench in
            let worker = try bench.worker()
            let claimed = try await bench.running(worker)
            _ = try await bench.cancel(claimed.id)
            try bench.expect(try await bench.complete(claimed, worker), .done(.finished), "the outcome")
            try bench.expect(try await bench.existing(claimed.id).cancel?.stoppedAt, nil, "stopped at")
        },
        ConformanceCheck("A cancel that comes too late returns how and when the operation ended") { bench in
            let worker = try bench.worker()
            let finished = try await bench.running(worker)
            _ = try await bench.complete(finished, worker)
            let dead = try await bench.running(worker)
            _ = try await bench.fail(dead, worker, .dead)
            let ended = try await bench.snapshot().time
            try await bench.advance(.seconds(3))
            try bench.expect(try await bench.cancel(finished.id), .ended(.finished, at: ended), "of a finished one")
            try bench.expect(try await bench.cancel(dead.id), .ended(.dead, at: ended), "of a dead one")
            try await bench.expectState(finished.id, .finished)
            try await bench.expectState(dead.id, .dead)
        },
        ConformanceCheck("A running untracked operation can be cancelled, and its record has the reason") { bench in
            let worker = try bench.worker()
            let claimed = try await bench.running(worker, tracked: false)
            let outcome = try await bench.cancel(claimed.id)
            try bench.expect(outcome, .requested(worker: worker.description), "the outcome")
            try bench.expect(try bench.beat(worker).cancels.map(\.fence), [claimed.fence], "the fences of a heartbeat")
            let end = try await bench.fail(claimed, worker, .retry(afterMilliseconds: 0))
            try bench.expect(end, .done(.cancelled), "the end")
            try bench.expect(try await bench.existing(claimed.id).cancel?.reason, "no need", "the reason")
        },
        ConformanceCheck("A cancel finds running untracked operations in all workers, and reports unknown ids") {
            bench in
            let workers = [try bench.worker(), try bench.worker(), try bench.worker()]
            var held: [[ClaimedOperation]] = []
            // Workers that the search visits later hold the lower fences.
            for worker in workers.reversed() {
                try await bench.enqueue(500, tracked: false)
                try await bench.enqueue(200, tracked: false)
                var claimed: [ClaimedOperation] = []
                while claimed.count < 700 { claimed += try await bench.claim(worker, 500).operations }
                held.insert(claimed, at: 0)
            }
            let waiting = try await bench.enqueue(tracked: false)
            let wanted = [held[0][0], held[1][350], held[2][699], held[2][0]]
            let request = CancelRequest(reason: "no need", by: "tester", storesIntent: true)
            let ids = wanted.map(\.id) + waiting + [OperationID()] + [wanted[1].id]
            let outcomes = try await bench.broker.cancel(ids, request: request, queue: bench.queue)
            let owners = [0, 1, 2, 2].map { CancelOutcome.requested(worker: workers[$0].description) }
            let unknown = CancelOutcome.unknown(intentStored: true)
            try bench.expect(outcomes, owners + [unknown, unknown, owners[1]], "the outcomes")
            for (worker, requests) in zip(workers, [[wanted[0]], [wanted[1]], [wanted[2], wanted[3]]]) {
                let fences = try bench.beat(worker).cancels.map(\.fence).sorted()
                try bench.expect(fences, requests.map(\.fence).sorted(), "the fences of a heartbeat")
            }
            // The waiting operation has a stored intent; the operations that were found have none.
            _ = try await bench.complete(wanted[0], workers[0])
            let again = NewOperation(id: wanted[0].id, tracked: false, envelope: BrokerBench.envelope())
            _ = try await bench.broker.enqueue([again], queue: bench.queue)
            let claimed = try await bench.claim(workers[0], 9).operations.map(\.id)
            try bench.expect(claimed, [again.id], "operations claimed afterwards")
            try await bench.expectState(waiting[0], .cancelled)
        },
        ConformanceCheck("An earlier cancel does not end an operation that an operator has retried") { bench in
            let worker = try bench.worker()
            let claimed = try await bench.running(worker)
            // As if a client had cancelled a running untracked operation just before it ended.
            let id = OperationID()
            _ = try await bench.cancel(id, storesIntent: true)
            _ = try await bench.fail(claimed, worker, .dead)
            let new = NewOperation(id: id, delayMilliseconds: 1000, envelope: BrokerBench.envelope())
            _ = try await bench.broker.enqueue([new], queue: bench.queue)
            let ids = [id, claimed.id]
            try bench.expect(
                try await bench.broker.retry(ids, by: "tester", queue: bench.queue),
                [.done, .done],
                "the outcomes"
            )
            try bench.expect(try await bench.claim(worker, 9).operations.map(\.id), ids, "claimed")
        },
        ConformanceCheck("An unknown id is reported; a stored intent ends its untracked operation at the claim") {
            bench in
            let worker = try bench.worker()
            let ids = try await bench.enqueue(2, tracked: false)
            try bench.expect(try await bench.cancel(ids[1]), .unknown(intentStored: false), "without an intent")
            try bench.expect(
                try await bench.cancel(ids[0], storesIntent: true),
                .unknown(intentStored: true),
                "with one"
            )
            try bench.expect(try await bench.claim(worker, 9).operations.map(\.id), [ids[1]], "claimed operations")
            let detail = try await bench.existing(ids[0])
            try bench.expect(detail.state, .cancelled, "the state")
            try bench.expect(detail.cancel?.reason, "no need", "the reason")
        },
        ConformanceCheck("A cancel that comes before its operation ends the operation at its claim") { bench in
            let worker = try bench.worker()
            let early = NewOperation(envelope: BrokerBench.envelope())
            try bench.expect(
                try await bench.cancel(early.id, storesIntent: true),
                .unknown(intentStored: true),
                "the outcome"
            )
            _ = try await bench.broker.enqueue([early], queue: bench.queue)
            try bench.expect(try await bench.claim(worker, 9).operations.count, 0, "claimed operations")
            try await bench.expectState(early.id, .cancelled)
            try bench.expect(try await bench.existing(early.id).cancel?.reason, "no need", "the reason")
        },
        ConformanceCheck("A cancel changes only its own operation") { bench in
            let worker = try bench.worker()
            try await bench.enqueue(4)
            let claimed = try await bench.claim(worker, 4).operations
            _ = try await bench.cancel(claimed[1].id)
            for (index, operation) in claimed.enumerated() {
                let outcome = try await bench.fail(operation, worker, .retry(afterMilliseconds: 0))
                try bench.expect(outcome, .done(index == 1 ? .cancelled : .retrying), "operation \(index)")
            }
        },
        ConformanceCheck("A cancel of one run does not reach a later run after an operator's retry") { bench in
            let worker = try bench.worker()
            let claimed = try await bench.running(worker)
            _ = try await bench.cancel(claimed.id)
            _ = try await bench.fail(claimed, worker, .cancelled)
            _ = try await bench.broker.retry([claimed.id], by: "tester", queue: bench.queue)
            let again = try await bench.claimOne(worker)
            try bench.expect(try bench.beat(worker).cancels, [], "the cancel requests of a heartbeat")
            try bench.expect(try await bench.existing(again.id).cancel, nil, "the trace")
            let outcome = try await bench.fail(again, worker, .retry(afterMilliseconds: 0))
            try bench.expect(outcome, .done(.retrying), "the failure of the later run")
        },
        ConformanceCheck("A cancel of a running operation sends a message to its worker only") { bench in
            let (worker, other) = (try bench.worker(), try bench.worker())
            let mine = bench.broker.controlMessages(worker: worker, queues: [bench.queue])
            let others = bench.broker.controlMessages(worker: other, queues: [bench.queue])
            try await bench.expectMessage(.resubscribed, in: mine)
            try await bench.expectMessage(.resubscribed, in: others)
            let claimed = try await bench.running(worker)
            _ = try await bench.cancel(claimed.id)
            try await bench.expectMessage(.cancel(queue: bench.queue, fence: claimed.fence), in: mine)
            _ = try await bench.cancelQueue()
            try await bench.expectMessage(.cancelThrough(queue: bench.queue), in: mine)
            try await bench.expectMessage(.cancelThrough(queue: bench.queue), in: others)
        },
        ConformanceCheck("Requested cancels can be read by fence, with their reason") { bench in
            let (worker, other) = (try bench.worker(), try bench.worker())
            let (asked, spared) = (try await bench.running(worker), try await bench.running(worker))
            let fences = [spared.fence, asked.fence, spared.fence + 1]
            let nothing = RequestedCancels(cancels: [], throughFence: 0)
            try bench.expect(try await bench.requestedCancels(fences, worker), nothing, "before")
            _ = try await bench.cancel(asked.id)
            let now = try await bench.snapshot().time
            let request = OperationCancellation(reason: "no need", by: "tester", requestedAt: now)
            let fenced = FencedCancel(fence: asked.fence, request)
            let one = RequestedCancels(cancels: [fenced], throughFence: 0)
            try bench.expect(try await bench.requestedCancels(fences, worker), one, "of the owner")
            try bench.expect(try await bench.requestedCancels(fences, other), nothing, "of another worker")
            try bench.expect(try await bench.requestedCancels([], worker), nothing, "requested cancels of no fence")
            _ = try await bench.fail(asked, worker, .cancelled)
            try bench.expect(try await bench.requestedCancels(fences, worker), nothing, "after the end")
            _ = try await bench.cancelQueue()
            let whole = OperationCancellation(reason: "all of it", by: "tester", requestedAt: now)
            let all = RequestedCancels(cancels: [], throughFence: spared.fence, queueCancel: whole)
            try bench.expect(try bench.beat(worker).queueCancel, whole, "of the whole queue, in a heartbeat")
            try bench.expect(try await bench.requestedCancels(fences, worker), all, "of the whole queue")
        },
        ConformanceCheck("A forced cancel ends a running operation at once and refuses later writes of its body") {
            bench in
            let worker = try bench.worker()
            let claimed = try await bench.running(worker)
            let start = try await bench.snapshot().time
            let outcome = try await bench.force(claimed.id)
            try bench.expect(outcome, .forced(worker: worker.description), "the outcome")
            try await bench.expectState(claimed.id, .cancelled)
            let forced = CancelTrace.Forced(at: start, by: "tester", reason: "no need", worker: worker.description)
            var expected = CancelTrace(requestedAt: start, reason: "no need", by: "tester", forced: forced)
            try bench.expect(try await bench.existing(claimed.id).cancel, expected, "the trace")
            let request = OperationCancellation(reason: "no need", by: "tester", requestedAt: start, isForced: true)
            let fenced = FencedCancel(fence: claimed.fence, request, forced: claimed.id)
            let reply = try bench.beat(worker)
            try bench.expect(reply.inFlight, 0, "operations of the worker")
            try bench.expect(reply.cancels, [fenced], "the cancel requests of a heartbeat")
            try bench.expect(
                try await bench.requestedCancels([claimed.fence], worker).cancels,
                [fenced],
                "what is stored"
            )
            for content: Report.Content in [.progress(fraction: 1, message: ""), .log(line: [65]), .checkpoint([49])] {
                try bench.expect(try await bench.report(claimed, worker, content), false, "a report")
            }
            try bench.expect(try await bench.complete(claimed, worker), .stale, "a completion")
            try bench.expect(try await bench.fail(claimed, worker, .cancelled), .stale, "a failure")
            try bench.expect(try await bench.giveBack(claimed, worker), .stale, "the outcome of a return")
            try await bench.advance(.seconds(1))
            try bench.expect(try await bench.report(claimed, worker, .cancelAcknowledged), true, "the acknowledgement")
            try await bench.advance(.seconds(1))
            try bench.expect(try await bench.report(claimed, worker, .cancelStopped), true, "the stop")
            (expected.acknowledgedAt, expected.stoppedAt) = (start + 1000, start + 2000)
            try bench.expect(try await bench.existing(claimed.id).cancel, expected, "the trace after the stop")
            try bench.expect(try bench.beat(worker).cancels, [], "the cancel requests of a heartbeat after the stop")
            try bench.expect(try await bench.existing(claimed.id).errors.count, 0, "stored errors")
            _ = try await bench.broker.retry([claimed.id], by: "ann", queue: bench.queue)
            try bench.expect(try await bench.existing(claimed.id).cancel, nil, "the trace after a retry")
            try await bench.advance(.seconds(1))
            _ = try await bench.cancel(claimed.id)
            let again = CancelTrace(requestedAt: start + 3000, stoppedAt: start + 3000, reason: "no need", by: "tester")
            try bench.expect(try await bench.existing(claimed.id).cancel, again, "the trace of a later cancel")
        },
        ConformanceCheck("A forced cancel after a request keeps the request and stores who forced it") { bench in
            let worker = try bench.worker()
            let claimed = try await bench.running(worker)
            _ = try await bench.cancel(claimed.id)
            let start = try await bench.existing(claimed.id).cancel?.requestedAt
            try await bench.advance(.seconds(1))
            _ = try await bench.force(claimed.id, reason: "does not stop", by: "other")
            let cancel = try await bench.existing(claimed.id).cancel
            try bench.expect(cancel?.requestedAt, start, "the request")
            try bench.expect(cancel?.by, "tester", "who requested it")
            try bench.expect(cancel?.forced?.by, "other", "who forced it")
            try bench.expect(cancel?.forced?.reason, "does not stop", "why")
            try bench.expect(cancel?.stoppedAt, nil, "the stop")
        },
        ConformanceCheck("A forced cancel records a running untracked operation, and simply ends a waiting one") {
            bench in
            let worker = try bench.worker()
            let claimed = try await bench.running(worker, tracked: false)
            try bench.expect(try await bench.force(claimed.id), .forced(worker: worker.description), "the outcome")
            try await bench.expectState(claimed.id, .cancelled)
            try bench.expect(try await bench.complete(claimed, worker), .stale, "a completion")
            let waiting = try bench.only(try await bench.enqueue())
            try bench.expect(try await bench.force(waiting), .cancelled, "the outcome of a waiting one")
            try bench.expect(try await bench.existing(waiting).cancel?.forced, nil, "what was forced")
        },
        ConformanceCheck("An operation that ended by force runs again after a retry; its first run changes nothing") {
            bench in
            let worker = try bench.worker()
            let claimed = try await bench.running(worker)
            _ = try await bench.force(claimed.id)
            _ = try await bench.broker.retry([claimed.id], by: "tester", queue: bench.queue)
            let again = try await bench.claimOne(worker)
            try bench.expect(again.id, claimed.id, "what runs")
            try bench.expect(try await bench.existing(claimed.id).cancel, nil, "the trace")
            try bench.expect(
                try await bench.report(claimed, worker, .cancelStopped),
                false,
                "the stop of the first run"
            )
            try bench.expect(try bench.beat(worker).cancels, [], "the cancel requests of a heartbeat")
            try bench.expect(try await bench.complete(again, worker), .done(.finished), "the second run")
        },
    ]
}
