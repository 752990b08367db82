import Operations

extension BrokerConformance {
    /// Workers that are shown as lost, and the history of lost workers.
    static let rememberingLosses: [ConformanceCheck] = [
        ConformanceCheck("A lapsed worker shows as lost until it is recovered, even if a new worker comes") { bench in
            let dead = try bench.worker()
            _ = try await bench.running(dead)
            try await bench.advance(.seconds(26))
            try bench.expect(try await bench.lapsed(), [dead], "the lost ones without another worker")
            let new = try bench.worker()
            try bench.expect(try await bench.lapsed(), [dead], "the lost ones as a new worker comes")
            try await bench.pass(15, beating: new)
            try bench.expect(try await bench.sweepAll(), SweepReply(), "the sweep before another lease has passed")
            try bench.expect(try await bench.lapsed(), [dead], "the lost ones before the sweep")
            try await bench.pass(1, beating: new)
            try bench.expect(try await bench.sweepAll(), SweepReply(recovered: 1), "the sweep")
            try bench.expect(try await bench.lapsed(), [], "the lost ones after it")
        },
        ConformanceCheck("After an outage, once one worker has come back, none is lost for another lease") { bench in
            let (worker, other) = (try bench.worker(), try bench.worker())
            try await bench.advance(.seconds(60))
            let new = try bench.worker()
            try bench.expect(
                try await bench.lapsed(),
                Set([worker, other]),
                "workers shown as lost while only a new worker sends heartbeats"
            )
            try bench.beat(other)
            try bench.expect(try await bench.lapsed(), [], "the lost ones once one has come back")
            try await bench.pass(16, beating: new)
            try bench.expect(try await bench.lapsed(), Set([worker, other]), "the lost ones a lease later")
        },
        ConformanceCheck("In a short outage a lease that lapses while others come back makes no worker lost") { bench in
            let (worker, other) = (try bench.worker(), try bench.worker())
            try await bench.advance(.seconds(4))
            try bench.beat(other)
            try await bench.advance(.seconds(10))
            try bench.beat(other)
            try await bench.pass(5, beating: other)
            try bench.expect(try await bench.lapsed(), [], "the lost ones")
            try await bench.pass(11, beating: other)
            try bench.expect(try await bench.lapsed(), [worker], "the lost ones a lease later")
        },
        ConformanceCheck("The history describes a lost worker and the outcome of its operations") { bench in
            let (worker, other) = (WorkerID(), try bench.worker())
            try bench.beat(worker, info: Array("about it".utf8))
            let started = try await bench.snapshot().time
            for _ in 0..<2 { _ = try await bench.running(worker) }
            _ = try await bench.running(worker, tracked: false)
            _ = try await bench.cancel(try await bench.running(worker).id)
            try bench.expect(try await bench.broker.lostWorkers(queue: bench.queue, limit: 9), [], "before it is lost")
            try await bench.lapse(allBut: other)
            try bench.expect(try await bench.sweepAll(), SweepReply(recovered: 3), "the sweep")
            let lost = try bench.only(try await bench.broker.lostWorkers(queue: bench.queue, limit: 9))
            try bench.expect(lost.worker, worker.description, "the worker")
            try bench.expect(lost.info, Array("about it".utf8), "what it said about itself")
            try bench.expect(
                [lost.beatAt, lost.lostAt, lost.recoveredAt].map { $0 - started },
                [0, 15_000, 17_000],
                "last beat, end of its lease, recovery"
            )
            try bench.expect([lost.recovered, lost.dead, lost.cancelled], [3, 0, 1], "recovered, dead, cancelled")
        },
        ConformanceCheck("Operation, event and history show from which worker it was recovered, when and why") {
            bench in
            let (frozen, dead, other) = (WorkerID(), WorkerID(), try bench.worker())
            var info = WorkerInfo(
                host: "h1",
                pid: 7,
                name: "web 1",
                slots: 1,
                queues: [bench.queue],
                handles: [],
                version: "1",
                startedAt: 0
            )
            try bench.beat(frozen, info: info.encoded())
            let first = try await bench.running(frozen)
            let started = try await bench.existing(first.id).record.startedAt
            try bench.expect(try await bench.existing(first.id).recoveries, [], "before it is lost")
            try await bench.lapse(allBut: other)
            _ = try await bench.sweepAll()
            let recovered = try await bench.snapshot().time
            info.name = "a \"name\""
            try bench.beat(dead, info: info.encoded())
            let again = try await bench.claimOne(dead)
            let startedAgain = try await bench.existing(first.id).record.startedAt
            _ = try await bench.broker.recoverWorker(worker: dead, queue: bench.queue)
            let recoveries = try await bench.existing(first.id).recoveries
            try bench.expect(recoveries.map(\.worker), [frozen, dead].map(\.description), "from whom")
            try bench.expect(recoveries.map(\.cause), [.lease, .process], "why")
            try bench.expect(recoveries.map(\.place), ["web 1 on h1", dead.description], "name and host")
            try bench.expect(recoveries.map(\.startedAt), [started, startedAgain], "the starts of the runs")
            try bench.expect(recoveries.first?.at, recovered, "when it was recovered")
            try bench.expect(recoveries.map(\.delivery), [1, 2], "deliveries")
            try bench.expect(recoveries.map(\.attempt), [1, 1], "attempts")
            try bench.expect(again.id, first.id, "the same operation")
            let events = try await bench.broker.storedEvents(
                queue: bench.queue,
                after: nil,
                agoMilliseconds: .max / 2,
                limit: 100
            )
            let changes = events.entries.compactMap(\.batch.change).filter { $0.verb == .recover }
            try bench.expect(changes.map(\.by), [frozen, dead].map(\.description), "who, in the events")
            try bench.expect(changes.map(\.count), [1, 1], "how many, in the events")
            let details = ["web 1: the lease of the worker ran out", "the process of the worker ended"]
            try bench.expect(changes.map(\.detail), details, "why, in the events")
            let history = try await bench.broker.lostWorkers(queue: bench.queue, limit: 9)
            try bench.expect(history.map(\.operations), [[first.id], [first.id]], "the operations, in the history")
        },
        ConformanceCheck("An operation keeps its last ten recoveries; the history keeps a worker's first 20 operations")
        { bench in
            let other = try bench.worker()
            let id = try await bench.enqueue()[0]
            var workers: [WorkerID] = []
            for _ in 0..<12 {
                workers.append(try bench.worker())
                let claimed = try await bench.claimAfterLoss(workers[workers.count - 1])
                try bench.expect(claimed.id, id, "the same one")
                // A snooze restarts the count of deliveries, so the operation is not lost too often.
                if workers.count % 2 == 0 {
                    _ = try await bench.fail(claimed, workers[workers.count - 1], .snoozed(milliseconds: 1, reason: ""))
                    try await bench.advance(.milliseconds(1))
                    _ = try await bench.claimAfterLoss(workers[workers.count - 1])
                }
                _ = try await bench.broker.recoverWorker(worker: workers[workers.count - 1], queue: bench.queue)
            }
            let kept = try await bench.existing(id).recoveries.map(\.worker)
            try bench.expect(kept, workers.suffix(Recovery.kept).map(\.description), "the last ten")
            _ = try await bench.cancel(id)
            let many = try bench.worker()
            let ids = try await bench.enqueue(25)
            _ = try await bench.claim(many, 25)
            _ = try await bench.broker.recoverWorker(worker: many, queue: bench.queue)
            let history = try await bench.broker.lostWorkers(queue: bench.queue, limit: 1)
            try bench.expect(
                history.first?.operations,
                Array(ids.reversed().prefix(LostWorker.named)),
                "the first twenty"
            )
            _ = other
        },
        ConformanceCheck("The history counts operations that were lost too often, and adds up several sweeps") {
            bench in
            let (worker, other) = (try bench.worker(), try bench.worker())
            _ = try await bench.running(worker)
            for _ in 1..<SluiceDefaults.maxDeliveries {
                try await bench.lapse(allBut: other)
                _ = try await bench.sweepAll()
                try bench.beat(worker)
                _ = try await bench.claimAfterLoss(worker)
            }
            try await bench.enqueue(250, tracked: false)
            _ = try await bench.claim(worker, 250)
            try await bench.lapse(allBut: other)
            _ = try await bench.sweepAll()
            let lost = try bench.only(try await bench.broker.lostWorkers(queue: bench.queue, limit: 9))
            try bench.expect([lost.recovered, lost.dead, lost.cancelled], [252, 1, 0], "what became of them")
        },
        ConformanceCheck("The history has recovered workers, but not retired ones") { bench in
            let (recoveredWorker, retired) = (try bench.worker(), try bench.worker())
            _ = try await bench.running(recoveredWorker)
            _ = try await bench.broker.recoverWorker(worker: recoveredWorker, queue: bench.queue)
            try await bench.broker.retire(worker: retired, statistics: [], queue: bench.queue)
            _ = try await bench.broker.recoverWorker(worker: retired, queue: bench.queue)
            let lost = try bench.only(try await bench.broker.lostWorkers(queue: bench.queue, limit: 9))
            try bench.expect(lost.worker, recoveredWorker.description, "the worker")
            try bench.expect(lost.recovered, 1, "recovered")
        },
        ConformanceCheck("The history keeps the newest 1,000 lost workers for a day, the newest first") { bench in
            let keeper = try bench.worker()
            var lost: [WorkerID] = []
            func lose() async throws {
                let worker = try bench.worker()
                _ = try await bench.broker.recoverWorker(worker: worker, queue: bench.queue)
                try await bench.advance(.milliseconds(1))
                lost.insert(worker, at: 0)
            }
            for _ in 0..<SluiceDefaults.lostWorkersKept + 3 { try await lose() }
            func history(_ limit: Int) async throws -> [WorkerID] {
                try await bench.broker.lostWorkers(queue: bench.queue, limit: limit).map { WorkerID($0.worker) }
            }
            try bench.expect(try await history(2), Array(lost.prefix(2)), "the newest two")
            try bench.expect(
                try await history(SluiceDefaults.lostWorkersKept),
                Array(lost.prefix(SluiceDefaults.lostWorkersKept)),
                "the newest thousand"
            )
            try await bench.advance(SluiceDefaults.lostWorkersAge - .milliseconds(2))
            try bench.expect(try await history(9), Array(lost.prefix(1)), "a day later")
            try bench.beat(keeper)
            try await lose()
            try bench.expect(try await history(9), Array(lost.prefix(1)), "after another loss")
        },
        ConformanceCheck("The history keeps the info of a lost worker up to 8 KiB") { bench in
            for (bytes, kept) in [(8192, 8192), (8193, 0)] {
                let worker = WorkerID()
                try bench.beat(worker, info: [UInt8](repeating: UInt8(ascii: "x"), count: bytes))
                _ = try await bench.broker.recoverWorker(worker: worker, queue: bench.queue)
                let lost = try await bench.broker.lostWorkers(queue: bench.queue, limit: 9)
                let found = lost.first { $0.worker == worker.description }
                try bench.expect(found?.info.count, kept, "bytes that are kept of \(bytes)")
            }
        },
    ]
}

extension BrokerBench {
    /// Workers that user interfaces show as lost.
    fileprivate func lapsed() async throws -> Set<WorkerID> {
        let snapshot = try await snapshot()
        return Set(
            snapshot.workers.filter { snapshot.leaseMilliseconds(of: $0) <= 0 }.map { WorkerID($0.worker) }
        )
    }
}
