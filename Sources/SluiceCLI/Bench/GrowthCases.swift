import Operations
import RedisClient

/// Whether anything gets slower when there is more of it. Times are the server's own, so that the client does not blur them.
struct GrowthCases: Sendable {
    private static let calls = 100
    let bench: Bench

    func run() async throws {
        try await pending()
        try await promotion()
        try await queues()
        try await workers()
    }

    // MARK: More operations

    private func pending() async throws {
        for tracked in [false, true] {
            var smallest: [String: Double] = [:]
            let most = tracked ? min(bench.size.most, 1_000_000) : bench.size.most
            for count in [1000, 100_000, 1_000_000, 5_000_000] where count <= most {
                bench.progress("growth: \(count) \(tracked.word) operations pending")
                try await bench.rig.reset()
                try await bench.rig.control.send(RedisCommand("CONFIG", "SET", "slowlog-log-slower-than", "5000"))
                try await bench.fill(count, tracked: tracked)
                for (name, value) in try await times(tracked) {
                    let first = smallest[name] ?? value
                    smallest[name] = first
                    bench.report(
                        Measurement(
                            .growth,
                            "\(name), \(tracked.word), server time of a call",
                            at: [("pending", Double(count))],
                            value,
                            .microseconds,
                            reference: .init(name: "1,000 pending", value: first),
                            bounds: count == 1000 ? [] : [.ratioAtMost(tracked ? 1.3 : 1.1)]
                        )
                    )
                }
                try await slow("with \(tracked.word) operations pending", Double(count))
            }
        }
    }

    /// The lower quartile of some calls each, since whatever disturbs a call makes it longer: as many operations enqueued, and claimed
    /// and completed, as a call takes, and a snapshot.
    private func times(_ tracked: Bool) async throws -> [(name: String, value: Double)] {
        let broker = bench.rig.broker
        let worker = WorkerID()
        let beat = Beat(worker: worker, epoch: 0, leaseMilliseconds: 600_000, intervalMilliseconds: 5000, info: [])
        _ = try broker.beat(beat, queue: BenchRig.queue)
        // As many as a bulk enqueue puts into a call.
        let call = EnqueueBatches(Bench.operations(Defaults.batch, tracked: tracked)).first { _ in true }?.count ?? 0
        let turn = try await quartile {
            let request = ClaimRequest(worker: worker, epoch: 0, capacity: Defaults.batch)
            let claim = try await broker.claim(request, queue: BenchRig.queue)
            let completions = claim.operations.map {
                Completion(fence: $0.fence, id: $0.id, tracked: $0.header.tracked)
            }
            _ = try await broker.complete(
                completions,
                isRepeat: false,
                worker: worker,
                thenClaim: nil,
                queue: BenchRig.queue
            )
            let again = Bench.operations(claim.operations.count, tracked: tracked)
            _ = try await broker.enqueue(again, queue: BenchRig.queue)
        }
        let snapshot = try await quartile { _ = try await broker.snapshot(queue: BenchRig.queue, executingRows: 100) }
        // Last: it makes more of them.
        let enqueue = try await quartile {
            _ = try await broker.enqueue(Bench.operations(call, tracked: tracked), queue: BenchRig.queue)
        }
        let most = tracked ? Defaults.trackedBatch : Defaults.batch
        return [
            ("enqueue of \(call)", enqueue), ("claim, completion and enqueue of \(most)", turn), ("snapshot", snapshot),
        ]
    }

    private func quartile(_ body: () async throws -> Void) async throws -> Double {
        var times: [Double] = []
        for _ in 0..<Self.calls {
            let before = try await bench.rig.commands().scriptMicroseconds
            try await body()
            times.append(try await bench.rig.commands().scriptMicroseconds - before)
        }
        return times.sorted()[times.count / 4]
    }

    private func slow(_ what: String, _ pending: Double) async throws {
        let count = try await bench.rig.control.send(RedisCommand("SLOWLOG", "LEN")).int ?? 0
        bench.report(
            Measurement(
                .growth,
                "scripts over 5 ms \(what)",
                at: [("pending", pending)],
                Double(count),
                .count,
                bounds: [.atMost(0)]
            )
        )
    }

    // MARK: All due at once

    private func promotion() async throws {
        let count = min(bench.size.most, 1_000_000)
        bench.progress("growth: \(count) operations due in the same second")
        try await bench.rig.reset()
        // Late enough for all to be there before.
        let due = ContinuousClock.now + .seconds(2) + .milliseconds(count / 20)
        var rest = count
        while rest > 0 {
            let part = min(rest, 10_000)
            try await bench.fill(part, tracked: true, delayMilliseconds: (due - .now).wholeMilliseconds)
            rest -= part
        }
        try await bench.rig.control.send(RedisCommand("SLOWLOG", "RESET"))
        let worker = try await bench.rig.startWorker(slots: 500)
        try await Task.sleep(until: due, clock: .continuous)
        let seconds = try await Bench.seconds { try await bench.rig.waitUntilFinished(count) }
        try await bench.rig.stop([worker])
        bench.report(
            Measurement(
                .growth,
                "operations due in the same second, promoted and run",
                at: [("operations", Double(count))],
                Double(count) / seconds,
                .perSecond
            )
        )
        try await slow("while that many fall due at once", Double(count))
    }

    // MARK: More queues, more workers

    private func queues() async throws {
        for count in [1, 10, 100] {
            bench.progress("growth: \(count) queues")
            try await bench.rig.reset()
            let names = (0..<count).map { $0 == 0 ? BenchRig.queue : "bench-\($0)" }
            let each = bench.size.operations / 2 / count
            for name in names {
                try await bench.rig.broker.setPaused(true, forMilliseconds: nil, queue: name)
                _ = try await bench.rig.broker.enqueueAll(
                    Bench.operations(each, tracked: false),
                    queue: name
                ) { _ in }
            }
            let worker = try await bench.rig.startWorker(slots: 500, queues: names.joined(separator: ","))
            let seconds = try await Bench.seconds {
                for name in names { try await bench.rig.broker.setPaused(false, forMilliseconds: nil, queue: name) }
                for name in names { try await bench.rig.waitUntilFinished(each, in: name) }
            }
            try await bench.rig.stop([worker])
            bench.report(
                Measurement(
                    .growth,
                    "drain of untracked no-ops, one worker",
                    at: [("queues", Double(count))],
                    Double(each * count) / seconds,
                    .perSecond
                )
            )
        }
    }

    private func workers() async throws {
        for count in [1, 4, 16, 64] where count <= bench.size.most / 10_000 {
            bench.progress("growth: \(count) worker processes")
            try await bench.rig.reset()
            try await bench.rig.broker.setPaused(true, forMilliseconds: nil, queue: BenchRig.queue)
            try await bench.fill(bench.size.operations, tracked: false)
            var workers: [WorkerProcess] = []
            for _ in 0..<count { workers.append(try await bench.rig.startWorker(slots: 100)) }
            let seconds = try await Bench.seconds {
                try await bench.rig.broker.setPaused(false, forMilliseconds: nil, queue: BenchRig.queue)
                try await bench.rig.waitUntilFinished(bench.size.operations)
            }
            try await bench.rig.stop(workers)
            bench.report(
                Measurement(
                    .growth,
                    "drain of untracked no-ops, 100 slots each",
                    at: [("processes", Double(count))],
                    Double(bench.size.operations) / seconds,
                    .perSecond
                )
            )
        }
    }
}
