import Operations

extension BrokerConformance {
    private static func new(_ query: String, _ milliseconds: Int64 = 60_000) -> NewStandingCancel {
        NewStandingCancel(query: query, milliseconds: milliseconds, by: "tester", reason: "not today")
    }

    static let standing: [ConformanceCheck] = [
        ConformanceCheck("A standing cancel is listed until its end, and a claim returns its revision") { bench in
            let worker = try bench.worker()
            let before = try await bench.running(worker)
            try bench.expect(before.standing, 0, "the revision without one")
            let start = try await bench.snapshot().time
            let set = try await bench.broker.setStandingCancel(new("name:a"), queue: bench.queue)
            try bench.expect(set?.endsAt, start + 60_000, "its end")
            let listed = try await bench.broker.standingCancels(queue: bench.queue)
            let expected = StandingCancel(
                id: set?.id ?? 0,
                query: "name:a",
                endsAt: start + 60_000,
                setAt: start,
                by: "tester",
                reason: "not today"
            )
            try bench.expect(listed.cancels, [expected], "the list")
            try bench.expect(listed.time, start, "the time")
            let claimed = try await bench.running(worker)
            try bench.expect(claimed.standing, listed.revision, "the revision of a claim")
            let untracked = try await bench.running(worker, tracked: false)
            try bench.expect(untracked.standing, listed.revision, "the revision of an untracked one")
            let found = try await bench.broker.reconcile(known: [], worker: worker, epoch: 0, queue: bench.queue).found
            try bench.expect(found.map(\.standing), Array(repeating: listed.revision, count: 3), "of what is found")
            try await bench.advance(.seconds(61))
            _ = try bench.beat(worker)
            try bench.expect(try await bench.running(worker).standing, 0, "the revision after its end")
            try bench.expect(try await bench.broker.standingCancels(queue: bench.queue).cancels, [], "the list then")
        },
        ConformanceCheck("Each change of standing cancels raises the revision; an equal query keeps its id") { bench in
            let worker = try bench.worker()
            let first = try await bench.broker.setStandingCancel(new("name:a"), queue: bench.queue)
            let one = try await bench.running(worker).standing
            let again = try await bench.broker.setStandingCancel(new("name:a", 120_000), queue: bench.queue)
            try bench.expect(again?.id, first?.id, "the id")
            let two = try await bench.running(worker).standing
            try bench.expect(two > one, true, "a higher revision")
            let other = try await bench.broker.setStandingCancel(new("tag:b"), queue: bench.queue)
            try bench.expect(try await bench.broker.standingCancels(queue: bench.queue).cancels.count, 2, "both")
            let removed = try await bench.broker.removeStandingCancels(
                [first?.id ?? 0, 999],
                by: "ann",
                queue: bench.queue
            )
            try bench.expect(removed, [first?.id ?? 0], "what was removed")
            try bench.expect(try await bench.running(worker).standing > two, true, "the revision after the removal")
            let all = try await bench.broker.removeStandingCancels(nil, by: "ann", queue: bench.queue)
            try bench.expect(all, [other?.id ?? 0], "what was removed at last")
            try bench.expect(try await bench.running(worker).standing, 0, "the revision without one")
            let events = try await bench.broker.storedEvents(
                queue: bench.queue,
                after: nil,
                agoMilliseconds: .max / 2,
                limit: 100
            )
            let expected = [
                QueueChange(.setStandingCancel, by: "tester", detail: "name:a for 60 s, not today"),
                QueueChange(.setStandingCancel, by: "tester", detail: "name:a for 120 s, not today"),
                QueueChange(.setStandingCancel, by: "tester", detail: "tag:b for 60 s, not today"),
                QueueChange(.removeStandingCancel, by: "ann", detail: "name:a"),
                QueueChange(.removeStandingCancel, by: "ann", detail: "tag:b"),
            ]
            try bench.expect(events.entries.compactMap(\.batch.change), expected, "the changes")
        },
        ConformanceCheck("A queue has at most 16 standing cancels, and ended ones make room") { bench in
            for number in 1...StandingCancel.limit {
                let set = try await bench.broker.setStandingCancel(new("name:\(number)", 1000), queue: bench.queue)
                try bench.expect(set != nil, true, "number \(number)")
            }
            let full = try await bench.broker.setStandingCancel(new("name:more"), queue: bench.queue)
            try bench.expect(full == nil, true, "one too many is refused")
            try await bench.advance(.seconds(2))
            let later = try await bench.broker.setStandingCancel(new("name:more"), queue: bench.queue)
            try bench.expect(later != nil, true, "one more later")
            try bench.expect(try await bench.broker.standingCancels(queue: bench.queue).cancels.count, 1, "the list")
        },
        ConformanceCheck("An operation cancelled by a standing cancel shows its requester and reason, and is counted") {
            bench in
            let worker = try bench.worker()
            let start = try await bench.snapshot().time
            let set = try await bench.broker.setStandingCancel(new("name:a"), queue: bench.queue)
            let id = set?.id ?? 0
            for tracked in [true, false] {
                let claimed = try await bench.running(worker, tracked: tracked)
                let outcome = try await bench.fail(
                    claimed,
                    worker,
                    .cancelledByStanding(
                        standing: id,
                        OperationCancellation(reason: "not today", by: "tester", requestedAt: start)
                    ),
                    error: ""
                )
                try bench.expect(outcome, .done(.cancelled), "the outcome")
                let detail = try await bench.existing(claimed.id)
                try bench.expect(detail.cancel?.by, "tester", "by whom")
                try bench.expect(detail.cancel?.reason, "not today", "why")
                try bench.expect(detail.cancel?.requestedAt, start, "when")
                try bench.expect(detail.cancel?.standing, id, "by which standing cancel")
                try bench.expect(detail.record.header.failedAttempts, 0, "used attempts")
                try bench.expect(detail.errors.count, 0, "errors")
            }
            let listed = try await bench.broker.standingCancels(queue: bench.queue)
            try bench.expect(listed.cancels.map(\.cancelled), [2], "how many it has cancelled")
            let running = try await bench.running(worker)
            _ = try await bench.cancel(running.id)
            let late = try await bench.fail(
                running,
                worker,
                .cancelledByStanding(
                    standing: 999,
                    OperationCancellation(reason: "gone", by: "other", requestedAt: start)
                ),
                error: ""
            )
            try bench.expect(late, .done(.cancelled), "one whose standing cancel was removed")
            try bench.expect(try await bench.existing(running.id).cancel?.reason, "no need", "the first request counts")
        },
    ]
}
