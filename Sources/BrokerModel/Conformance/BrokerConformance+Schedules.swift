import Operations

extension BrokerConformance {
    static let scheduling: [ConformanceCheck] = [
        ConformanceCheck("An instant of a schedule is enqueued once, by the first call that names the next one") {
            bench in
            let now = try await bench.now()
            let revision = try await bench.set("nightly", due: now + 1000)
            let firing = bench.firing("nightly", now + 1000, revision, next: now + 2000)
            try bench.expect(
                try await bench.fire(firing),
                FiringReply(isDone: false, nextMilliseconds: 1000),
                "before its time"
            )
            try await bench.advance(.milliseconds(1000))
            let due = try await bench.broker.dueSchedules(queue: bench.queue)
            try bench.expect(due.schedules.map(\.id), ["nightly"], "due")
            try bench.expect(try await bench.fire(firing), FiringReply(isDone: true, nextMilliseconds: 1000), "once")
            try bench.expect(try await bench.fire(firing), FiringReply(isDone: false, nextMilliseconds: 1000), "twice")
            let claim = try await bench.claim(try bench.worker(), 9)
            try bench.expect(claim.operations.map(\.id), [firing.operation?.id].compactMap { $0 }, "enqueued")
            let page = try await bench.broker.schedule("nightly", queue: bench.queue)
            try bench.expect(page.schedules.first?.due, now + 2000, "the next instant")
            try bench.expect(page.schedules.first?.runs.enqueued, 1, "how many")
            try bench.expect(page.schedules.first?.runs.last?.instant, now + 1000, "the last instant")
        },
        ConformanceCheck("A fired schedule wakes a worker and keeps delay, expiry and priority") { bench in
            let now = try await bench.now()
            let revision = try await bench.set("s", due: now)
            var firing = bench.firing("s", now, revision, next: now + 10)
            firing.operation?.priority = .high
            firing.operation?.expiresMilliseconds = 5000
            try await bench.dropToken()
            try bench.expect(try await bench.fire(firing).isDone, true, "done")
            try await bench.expectToken("woken")
            let claimed = try await bench.claimOne(try bench.worker())
            try bench.expect(claimed.header.priority, .high, "the priority")
            try bench.expect(claimed.header.expiresAt, now + 5000, "the deadline")
            try await bench.advance(.milliseconds(10))
            var delayed = bench.firing("s", now + 10, revision, next: nil)
            delayed.operation?.delayMilliseconds = 700
            try bench.expect(
                try await bench.fire(delayed),
                FiringReply(isDone: true, nextMilliseconds: nil),
                "the last"
            )
            if let id = delayed.operation?.id { try await bench.expectState(id, .scheduled) }
        },
        ConformanceCheck("An instant is over even if another operation's unique key keeps its operation out") { bench in
            let now = try await bench.now()
            let revision = try await bench.set("s", due: now)
            var firing = bench.firing("s", now, revision, next: now + 10, overlap: .skip)
            try bench.expect(try await bench.fire(firing).isDone, true, "the first")
            let first = firing.operation?.id
            try await bench.advance(.milliseconds(10))
            firing = bench.firing("s", now + 10, revision, next: now + 20, overlap: .join)
            try bench.expect(
                try await bench.fire(firing),
                FiringReply(isDone: true, nextMilliseconds: 10),
                "the second, while the first waits"
            )
            var runs = try await bench.broker.schedule("s", queue: bench.queue).schedules.first?.runs
            try bench.expect(runs?.enqueued, 1, "how many")
            try bench.expect(runs?.last?.instant, now, "the last that was enqueued")
            try bench.expect(runs?.overlappedAt, now + 10, "the last that was not")
            let worker = try bench.worker()
            let claimed = try await bench.claimOne(worker)
            try bench.expect(claimed.id, first, "the first alone")
            try await bench.advance(.milliseconds(10))
            let third = bench.firing("s", now + 20, revision, next: now + 30, overlap: .enqueue)
            _ = try await bench.fire(third)
            if let id = third.operation?.id { try await bench.expectState(id, .blocked) }
            try await bench.advance(.milliseconds(10))
            let fourth = bench.firing("s", now + 30, revision, next: nil, overlap: .keepLatest)
            _ = try await bench.fire(fourth)
            if let id = third.operation?.id { try await bench.expectState(id, .cancelled) }
            _ = try await bench.complete(claimed, worker)
            try bench.expect(try await bench.claimOne(worker).id, fourth.operation?.id, "the latest, in its turn")
            runs = try await bench.broker.schedule("s", queue: bench.queue).schedules.first?.runs
            try bench.expect(runs?.enqueued, 3, "how many at the end")
        },
        ConformanceCheck("A changed, paused or removed schedule does not fire with an outdated revision") { bench in
            let now = try await bench.now()
            let first = try await bench.set("s", due: now)
            let second = try await bench.set("s", revision: first, due: now)
            try bench.expect(try await bench.fire(bench.firing("s", now, first, next: nil)).isDone, false, "outdated")
            let pause = ScheduleChange(id: "s", kind: .pause, revision: second, due: nil, isPaused: true)
            let paused = try await bench.broker.setSchedule(pause, by: "ann", queue: bench.queue)
            guard case .done(let third) = paused else { return try bench.expect("\(paused)", "done", "the pause") }
            try bench.expect(try await bench.fire(bench.firing("s", now, third, next: nil)).isDone, false, "paused")
            let page = try await bench.broker.schedule("s", queue: bench.queue)
            try bench.expect(page.schedules.first?.isPaused, true, "paused")
            try bench.expect(page.schedules.first?.definition, Array("{}".utf8), "the definition")
            try bench.expect(page.schedules.first?.changedBy, "ann", "by whom")
            let resume = ScheduleChange(id: "s", kind: .resume, revision: third, due: now)
            guard case .done(let fourth) = try await bench.broker.setSchedule(resume, by: "ann", queue: bench.queue)
            else { return try bench.expect("refused", "done", "the resume") }
            try bench.expect(try await bench.broker.removeSchedule("s", by: "ann", queue: bench.queue), true, "removed")
            try bench.expect(try await bench.broker.removeSchedule("s", by: "ann", queue: bench.queue), false, "again")
            try bench.expect(try await bench.fire(bench.firing("s", now, fourth, next: nil)).isDone, false, "removed")
            let anew = try await bench.set("s", due: now)
            try bench.expect(anew > fourth, true, "a revision above all earlier ones")
            try bench.expect(try await bench.snapshot().counts[.ready], 0, "nothing is enqueued")
        },
        ConformanceCheck("A schedule is not overwritten with an outdated revision") { bench in
            let now = try await bench.now()
            let first = try await bench.set("s", due: now + 1)
            let again = ScheduleChange(id: "s", kind: .set(definition: []), revision: 0, due: now)
            try bench.expect(
                try await bench.broker.setSchedule(again, by: "b", queue: bench.queue),
                .outdated,
                "as new"
            )
            let gone = ScheduleChange(id: "t", kind: .pause, revision: first, due: nil, isPaused: true)
            try bench.expect(
                try await bench.broker.setSchedule(gone, by: "b", queue: bench.queue),
                .outdated,
                "unknown"
            )
            let none = ScheduleChange(id: "t", kind: .pause, revision: 0, due: nil, isPaused: true)
            try bench.expect(
                try await bench.broker.setSchedule(none, by: "b", queue: bench.queue),
                .outdated,
                "no such"
            )
        },
        ConformanceCheck("A schedule with a fault stops and shows the reason until it is set anew") { bench in
            let now = try await bench.now()
            let revision = try await bench.set("s", due: now)
            var firing = bench.firing("s", now, revision, next: now + 1000)
            (firing.operation, firing.fault) = (nil, "its signature does not match")
            try bench.expect(try await bench.fire(firing), FiringReply(isDone: true, nextMilliseconds: nil), "stopped")
            var schedule = try await bench.broker.schedule("s", queue: bench.queue).schedules.first
            try bench.expect(schedule?.runs.fault, "its signature does not match", "why")
            try bench.expect(schedule?.due, nil, "the next instant")
            _ = try await bench.set("s", revision: revision, due: now + 5)
            schedule = try await bench.broker.schedule("s", queue: bench.queue).schedules.first
            try bench.expect(schedule?.runs.fault, nil, "why, afterwards")
        },
        ConformanceCheck("Pages list all schedules by id; a snapshot has their number and the next instant") { bench in
            let now = try await bench.now()
            try bench.expect(try await bench.snapshot().schedules, ScheduleSummary(), "none")
            for number in 100..<230 { _ = try await bench.set("s\(number)", due: now + Int64(number)) }
            let first = try await bench.broker.schedules(queue: bench.queue, after: nil)
            let second = try await bench.broker.schedules(queue: bench.queue, after: first.schedules.last?.id)
            try bench.expect([first.more, second.more], [true, false], "more")
            let ids = (first.schedules + second.schedules).map(\.id)
            try bench.expect(ids, (100..<230).map { "s\($0)" }, "the ids")
            try bench.expect(
                try await bench.snapshot().schedules,
                ScheduleSummary(count: 130, next: now + 100),
                "the summary"
            )
            try await bench.advance(.milliseconds(140))
            let due = try await bench.broker.dueSchedules(queue: bench.queue)
            try bench.expect(due.schedules.map(\.id), (100..<120).map { "s\($0)" }, "due, the earliest first")
            try bench.expect(due.more, true, "more are due")
        },
        ConformanceCheck("One worker watches for the next instant, and is replaced when it is gone or late") { bench in
            let (one, other) = (try bench.worker(), try bench.worker())
            try bench.expect(try bench.beat(one).scheduleMilliseconds, nil, "without schedules")
            let now = try await bench.now()
            let revision = try await bench.set("s", due: now + 3000)
            try bench.expect(try bench.beat(one).scheduleMilliseconds, 3000, "of the first that beats")
            try bench.expect(try bench.beat(other).scheduleMilliseconds, nil, "of the other")
            try await bench.advance(.milliseconds(3500))
            try bench.expect(try bench.beat(other).scheduleMilliseconds, nil, "half a second late")
            try bench.expect(try bench.beat(one).scheduleMilliseconds, 0, "of the first, late")
            try await bench.advance(.milliseconds(500))
            try bench.expect(try bench.beat(other).scheduleMilliseconds, 0, "a second late")
            try bench.expect(try bench.beat(one).scheduleMilliseconds, 0, "the first worker takes over again")
            _ = try await bench.fire(bench.firing("s", now + 3000, revision, next: now + 9000))
            try bench.expect(try bench.beat(other).scheduleMilliseconds, nil, "of the other, afterwards")
            try await bench.broker.retire(worker: one, statistics: [], queue: bench.queue)
            try bench.expect(try bench.beat(other).scheduleMilliseconds, 5000, "when the first has left")
        },
        ConformanceCheck("An earlier instant of a schedule notifies the workers; a later one does not") { bench in
            let worker = try bench.worker()
            let messages = bench.broker.controlMessages(worker: worker, queues: [bench.queue])
            try await bench.expectMessage(.resubscribed, in: messages)
            let now = try await bench.now()
            _ = try await bench.set("s", due: now + 3000)
            try await bench.expectMessage(.schedules, in: messages)
            _ = try await bench.set("later", due: now + 4000)
            _ = try await bench.set("sooner", due: now + 2000)
            try await bench.expectMessage(.schedules, in: messages)
        },
        ConformanceCheck("Changes of schedules are events with their author") { bench in
            let now = try await bench.now()
            _ = try await bench.set("s", due: now + 3000)
            _ = try await bench.broker.removeSchedule("s", by: "bob", queue: bench.queue)
            let events = try await bench.broker.storedEvents(
                queue: bench.queue,
                after: nil,
                agoMilliseconds: 60_000,
                limit: 9
            )
            let expected = [
                QueueChange(.setSchedule, by: "ann", detail: "s every second"),
                QueueChange(.removeSchedule, by: "bob", detail: "s"),
            ]
            try bench.expect(events.entries.compactMap(\.batch.change), expected, "the changes")
        },
    ]
}

extension BrokerBench {
    fileprivate func now() async throws -> Int64 { try await snapshot().time }

    fileprivate func fire(_ firing: ScheduleFiring) async throws -> FiringReply {
        try await broker.fire(firing, queue: queue)
    }

    /// - Returns: the new revision.
    fileprivate func set(_ id: String, revision: Int64 = 0, due: Int64?) async throws -> Int64 {
        let definition = ScheduleChange.Kind.set(definition: Array("{}".utf8))
        let change = ScheduleChange(id: id, kind: definition, revision: revision, due: due, detail: "every second")
        let outcome = try await broker.setSchedule(change, by: "ann", queue: queue)
        guard case .done(let revision) = outcome else {
            try expect("\(outcome)", "done", "the outcome of a change")
            return 0
        }
        return revision
    }

    fileprivate func firing(
        _ id: String,
        _ instant: Int64,
        _ revision: Int64,
        next: Int64?,
        overlap: DuplicatePolicy? = nil
    ) -> ScheduleFiring {
        let envelope = OperationEnvelope(name: "n").encoded()
        let unique = overlap.map { UniqueClaim(key: "schedule:\(id)", policy: $0) }
        return ScheduleFiring(
            id: id,
            instant: instant,
            revision: revision,
            next: next,
            operation: NewOperation(
                id: OperationID(key: "\(id) \(instant)"),
                envelope: envelope,
                links: OperationLinks(unique: unique)
            )
        )
    }
}
