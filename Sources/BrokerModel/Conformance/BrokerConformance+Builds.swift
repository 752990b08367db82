import Operations

extension BrokerConformance {
    /// The builds that workers report.
    static let keepingBuilds: [ConformanceCheck] = [
        ConformanceCheck("A build counts from the first heartbeat of its first worker, whatever comes later") { bench in
            let start = try await bench.toNextDay()
            let (first, second) = (WorkerID(), WorkerID())
            try bench.beat(first, build: "1.0")
            try await bench.advance(.seconds(60))
            for worker in [first, second, WorkerID()] { try bench.beat(worker, build: "1.0") }
            try bench.beat(second, build: "2.0")
            try bench.expect(try await bench.builds(), ["1.0 \(start)"], "while no worker of another one registers")
            try bench.beat(WorkerID(), build: "3.0 & <b>")
            try await bench.advance(.seconds(60))
            try await bench.broker.retire(worker: first, statistics: [], queue: bench.queue)
            try bench.beat(first, build: "1.0")
            try bench.expect(
                try await bench.builds(),
                ["3.0 & <b> \(start + 60_000)", "1.0 \(start)"],
                "the newest first"
            )
        },
        ConformanceCheck("Workers without a build leave no mark, and each queue has its own builds") { bench in
            try bench.beat(WorkerID())
            try bench.expect(try await bench.builds(), [], "without a build")
            try bench.beat(WorkerID(), build: "1.0")
            try bench.expect(try await bench.broker.builds(queue: "other"), [], "in another queue")
        },
        ConformanceCheck("A queue remembers the newest 50 builds; of one instant, those that sort last") { bench in
            let start = try await bench.toNextDay()
            let kept = SluiceDefaults.buildsKept
            try bench.beat(WorkerID(), build: "old")
            try await bench.advance(.seconds(1))
            for number in 1...kept { try bench.beat(WorkerID(), build: "b\(number + 100)") }
            let newest = (1...kept).reversed().map { "b\($0 + 100) \(start + 1000)" }
            try bench.expect(try await bench.builds(), newest, "the newest")
            try bench.beat(WorkerID(), build: "a")
            try bench.expect(try await bench.builds(), newest, "after one more that sorts first")
            try bench.beat(WorkerID(), build: "é")
            try bench.expect(
                try await bench.builds(),
                ["é \(start + 1000)"] + newest.dropLast(),
                "after one more that sorts last"
            )
        },
    ]
}

extension BrokerBench {
    /// The builds of the queue, each with its time.
    fileprivate func builds() async throws -> [String] {
        try await broker.builds(queue: queue).map { "\($0.build) \($0.firstSeenAt)" }
    }
}
