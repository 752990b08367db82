import Operations

extension BrokerConformance {
    /// Who is shown as lost, and the history of those who were.
    static let rememberingLosses: [ConformanceCheck] = [
        ConformanceCheck("A lapsed worker is lost until it is recovered, also when a new worker comes") {
            bench in
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
        ConformanceCheck("After an outage no worker is lost before another lease has passed, once one has come back") {
            bench in
            let (worker, other) = (try bench.worker(), try bench.worker())
            try await bench.advance(.seconds(60))
            let new = try bench.worker()
            try bench.expect(try await bench.lapsed(), Set([worker, other]), "the lost ones as only a new one beats")
            try bench.beat(other)
            try bench.expect(try await bench.lapsed(), [], "the lost ones once one has come back")
            try await bench.pass(16, beating: new)
            try bench.expect(try await bench.lapsed(), Set([worker, other]), "the lost ones a lease later")
        },
        ConformanceCheck("In a short outage, too, no worker is lost whose lease lapses while the others come back") {
            bench in
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
        ConformanceCheck("The history says of a lost worker what it was and what became of its operations") { bench in
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
            try bench.expect([lost.handedBack, lost.dead, lost.cancelled], [3, 0, 1], "handed back, dead, cancelled")
        },
        ConformanceCheck("The history counts operations that were lost too often, and adds up parts") {
            bench in
            let (worker, other) = (try bench.worker(), try bench.worker())
            _ = try await bench.running(worker)
            for _ in 1..<Defaults.maxDeliveries {
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
            try bench.expect([lost.handedBack, lost.dead, lost.cancelled], [252, 1, 0], "what became of them")
        },
        ConformanceCheck("An abandoned worker is in the history, a retired one is not") { bench in
            let (abandoned, retired) = (try bench.worker(), try bench.worker())
            _ = try await bench.running(abandoned)
            _ = try await bench.broker.abandon(worker: abandoned, queue: bench.queue)
            try await bench.broker.retire(worker: retired, figures: [], queue: bench.queue)
            _ = try await bench.broker.abandon(worker: retired, queue: bench.queue)
            let lost = try bench.only(try await bench.broker.lostWorkers(queue: bench.queue, limit: 9))
            try bench.expect(lost.worker, abandoned.description, "the worker")
            try bench.expect(lost.handedBack, 1, "handed back")
        },
        ConformanceCheck("The history has the newest thousand, for a day, the newest first") { bench in
            let keeper = try bench.worker()
            var lost: [WorkerID] = []
            func lose() async throws {
                let worker = try bench.worker()
                _ = try await bench.broker.abandon(worker: worker, queue: bench.queue)
                try await bench.advance(.milliseconds(1))
                lost.insert(worker, at: 0)
            }
            for _ in 0..<Defaults.lostWorkersKept + 3 { try await lose() }
            func history(_ limit: Int) async throws -> [WorkerID] {
                try await bench.broker.lostWorkers(queue: bench.queue, limit: limit).map { WorkerID($0.worker) }
            }
            try bench.expect(try await history(2), Array(lost.prefix(2)), "the newest two")
            try bench.expect(
                try await history(Defaults.lostWorkersKept),
                Array(lost.prefix(Defaults.lostWorkersKept)),
                "the newest thousand"
            )
            try await bench.advance(Defaults.lostWorkersAge - .milliseconds(2))
            try bench.expect(try await history(9), Array(lost.prefix(1)), "a day later")
            try bench.beat(keeper)
            try await lose()
            try bench.expect(try await history(9), Array(lost.prefix(1)), "after another loss")
        },
        ConformanceCheck("What a lost worker said about itself is kept up to 8 KiB") { bench in
            for (bytes, kept) in [(8192, 8192), (8193, 0)] {
                let worker = WorkerID()
                try bench.beat(worker, info: [UInt8](repeating: UInt8(ascii: "x"), count: bytes))
                _ = try await bench.broker.abandon(worker: worker, queue: bench.queue)
                let lost = try await bench.broker.lostWorkers(queue: bench.queue, limit: 9)
                let found = lost.first { $0.worker == worker.description }
                try bench.expect(found?.info.count, kept, "bytes that are kept of \(bytes)")
            }
        },
    ]
}

extension BrokerBench {
    /// Those that user interfaces show as lost.
    fileprivate func lapsed() async throws -> Set<WorkerID> {
        let snapshot = try await snapshot()
        return Set(
            snapshot.workers.filter { snapshot.leaseMilliseconds(of: $0) <= 0 }.map { WorkerID($0.worker) }
        )
    }
}
