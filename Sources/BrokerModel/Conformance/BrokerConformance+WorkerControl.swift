import Operations

extension BrokerConformance {
    /// Settings that operators make for workers.
    static let workerControl: [ConformanceCheck] = [
        ConformanceCheck("An operator's settings for a worker come with its own heartbeats only") { bench in
            let (worker, other) = (try bench.worker(), try bench.worker())
            try bench.expect(try bench.beat(worker).settings, WorkerSettings(), "before")
            let time = try await bench.snapshot().time
            for command in [WorkerCommand.slots(4), .stop, .quiet] {
                try bench.expect(try await bench.control(command, worker), true, "stored: \(command)")
            }
            let expected = WorkerSettings(
                course: .init(.quiet, at: time, by: "ann@desk"),
                slots: .init(4, at: time, by: "ann@desk")
            )
            for _ in 0..<2 { try bench.expect(try bench.beat(worker).settings, expected, "the worker's heartbeat") }
            try bench.expect(try bench.beat(other).settings, WorkerSettings(), "another one's")
            let rows = try await bench.snapshot().workers
            try bench.expect(rows.first { $0.worker == worker.description }?.settings, expected, "the snapshot")
            try bench.expect(try await bench.control(.resume, worker), true, "stored: resume")
            try bench.expect(try bench.beat(worker).settings.course?.value, .running, "after resume")
        },
        ConformanceCheck("A worker without a lease takes no settings, and an ended worker leaves none behind") {
            bench in
            let worker = try bench.worker()
            try bench.expect(try await bench.control(.stop, WorkerID()), false, "an unknown worker")
            try bench.expect(try await bench.control(.stop, worker), true, "a worker")
            try await bench.broker.retire(worker: worker, statistics: [], queue: bench.queue)
            try bench.expect(try await bench.control(.stop, worker), false, "an ended worker")
            try bench.expect(try bench.beat(worker).settings, WorkerSettings(), "the same id again")
        },
        ConformanceCheck("A setting for a worker sends a message to that worker only") { bench in
            let (worker, other) = (try bench.worker(), try bench.worker())
            let mine = bench.broker.controlMessages(worker: worker, queues: [bench.queue])
            let others = bench.broker.controlMessages(worker: other, queues: [bench.queue])
            try await bench.expectMessage(.resubscribed, in: mine)
            try await bench.expectMessage(.resubscribed, in: others)
            _ = try await bench.control(.quiet, worker)
            try await bench.expectMessage(.controlled, in: mine)
            _ = try await bench.cancelQueue()
            try await bench.expectMessage(.cancelThrough(queue: bench.queue), in: others)
        },
        ConformanceCheck("A quiet worker gives up the timer, and another worker is woken to take it over") { bench in
            let (worker, other) = (try bench.worker(), try bench.worker())
            try await bench.enqueue(delay: 60_000)
            _ = try await bench.claim(worker)
            try await bench.dropToken()
            _ = try await bench.control(.quiet, worker)
            try bench.beat(worker)
            try await bench.expectToken("the wake-up token")
            try bench.expect(try await bench.claim(other).nextDueMilliseconds, 60_000, "what the other one watches for")
        },
    ]
}

extension BrokerBench {
    fileprivate func control(_ command: WorkerCommand, _ worker: WorkerID) async throws -> Bool {
        try await broker.control(command, worker: worker.description, by: "ann@desk", queue: queue)
    }
}
