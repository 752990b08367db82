import Operations
import RedisClient
import SluiceCLI

/// Measures whether calls get slower with more operations, queues or workers.
struct GrowthCases: Sendable {
    let bench: Bench

    func run() async throws {
        try await PendingGrowth(bench: bench).run()
        try await promotion()
        try await queues()
        try await workers()
    }

    // MARK: All due at once

    private func promotion() async throws {
        let count = min(bench.size.most, 1_000_000)
        bench.progress("growth: \(count) operations due in the same second")
        try await bench.rig.reset()
        // The pause keeps operations from starting before all are enqueued, even on a slow machine.
        try await bench.rig.broker.setPaused(.pause(by: "bench"), queue: BenchRig.queue)
        let due = ContinuousClock.now + .seconds(2) + .milliseconds(count / 40)
        var rest = count
        while rest > 0 {
            let part = min(rest, 10_000)
            try await bench.fill(part, tracked: true, delayMilliseconds: max(1, (due - .now).wholeMilliseconds))
            rest -= part
        }
        try await bench.rig.control.send(RedisCommand("SLOWLOG", "RESET"))
        let before = try await bench.rig.commands()
        let worker = try await bench.rig.startWorker(slots: 500)
        try await Task.sleep(until: due, clock: .continuous)
        let seconds = try await Bench.seconds {
            try await bench.rig.broker.setPaused(.resume(by: "bench"), queue: BenchRig.queue)
            try await bench.rig.waitUntilFinished(count)
        }
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
        try await bench.reportSlowScripts("while that many fall due at once", Double(count))
        try await plainScripts(like: bench.rig.commands(), since: before, count)
    }

    /// Counts slow calls among plain scripts that all take the mean time of the real scripts, to show the influence of
    /// the machine.
    private func plainScripts(like work: ServerWork, since before: ServerWork, _ count: Int) async throws {
        let calls = work.scriptCalls - before.scriptCalls
        let mean = (work.scriptMicroseconds - before.scriptMicroseconds) / calls
        bench.progress("growth: \(Int(calls)) plain scripts that take as long")
        let plain = try await PlainScripts(rig: bench.rig, records: count).run(Int(calls), microseconds: mean)
        for (name, value, unit) in [
            ("scripts while that many fall due at once, mean", mean, Measurement.Unit.microseconds),
            ("plain scripts over 5 ms, as many", Double(plain.slow), .count),
            ("plain scripts, mean", plain.microseconds, .microseconds),
        ] {
            bench.report(Measurement(.growth, name, at: [("pending", Double(count))], value, unit))
        }
    }

    // MARK: More queues, more workers

    private func queues() async throws {
        for count in [1, 10, 100] {
            bench.progress("growth: \(count) queues")
            try await bench.rig.reset()
            let names = (0..<count).map { $0 == 0 ? BenchRig.queue : "bench-\($0)" }
            let each = bench.size.operations / 2 / count
            for name in names {
                try await bench.rig.broker.setPaused(.pause(by: "bench"), queue: name)
                _ = try await bench.rig.broker.enqueueAll(
                    Bench.operations(each, tracked: false),
                    queue: name
                ) { _ in }
            }
            let worker = try await bench.rig.startWorker(slots: 500, queues: names.joined(separator: ","))
            let seconds = try await Bench.seconds {
                for name in names { try await bench.rig.broker.setPaused(.resume(by: "bench"), queue: name) }
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
            try await bench.rig.broker.setPaused(.pause(by: "bench"), queue: BenchRig.queue)
            try await bench.fill(bench.size.operations, tracked: false)
            let workers = try await withThrowingTaskGroup(of: WorkerProcess.self) { group in
                for _ in 0..<count { group.addTask { try await bench.rig.startWorker(slots: 100) } }
                return try await group.reduce(into: [WorkerProcess]()) { $0.append($1) }
            }
            let seconds = try await Bench.seconds {
                try await bench.rig.broker.setPaused(.resume(by: "bench"), queue: BenchRig.queue)
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
