import Operations
import RedisClient

/// How fast producers are.
struct EnqueueCases: Sendable {
    let bench: Bench

    func run() async throws {
        try await oneByOne()
        try await concurrently()
        for tracked in [false, true] { try await bulk(tracked) }
    }

    /// In turns with PINGs over the same connection, and with a script that does nothing.
    private func oneByOne() async throws {
        let turns = 100
        let each = max(1, bench.size.operations / 40 / turns)
        bench.progress("enqueue one by one")
        try await bench.rig.reset()
        let (broker, control) = (bench.rig.broker, bench.rig.control)
        let digest = try await control.send(RedisCommand("SCRIPT", "LOAD", "return '1'")).string ?? ""
        var (pings, enqueues, otherPings, scripts) = (0.0, 0.0, 0.0, 0.0)
        for _ in 0..<turns {
            let operations = Bench.operations(each, tracked: true)
            pings += try await Bench.seconds { for _ in 0..<each { try await broker.connect() } }
            enqueues += try await Bench.seconds {
                for operation in operations { _ = try await broker.enqueue([operation], queue: BenchRig.queue) }
            }
            otherPings += try await Bench.seconds {
                for _ in 0..<each { try await control.send(RedisCommand("PING")) }
            }
            scripts += try await Bench.seconds {
                for operation in operations {
                    try await control.send(
                        RedisCommand("EVALSHA", digest, "1", BenchRig.queue, operation.element)
                    )
                }
            }
        }
        let count = Double(turns * each)
        for (name, seconds, pinging, bound) in [
            ("one by one, awaited", enqueues, pings, [Measurement.Bound.ratioAtLeast(0.8)]),
            ("an empty script, awaited", scripts, otherPings, []),
        ] {
            let ping = Measurement.Reference(name: "PING in turns with it", value: count / pinging)
            bench.report(Measurement(.enqueue, name, count / seconds, .perSecond, reference: ping, bounds: bound))
        }
    }

    private func concurrently() async throws {
        let tasks = 64
        let each = bench.size.operations / 10 / tasks
        bench.progress("enqueue from \(tasks) tasks")
        try await bench.rig.reset()
        let broker = bench.rig.broker
        let seconds = try await Bench.seconds {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<tasks {
                    group.addTask {
                        for operation in Bench.operations(each, tracked: true) {
                            _ = try await broker.enqueue([operation], queue: BenchRig.queue)
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
        bench.report(Measurement(.enqueue, "64 tasks, one each", Double(each * tasks) / seconds, .perSecond))
    }

    private func bulk(_ tracked: Bool) async throws {
        let count = bench.size.operations
        bench.progress("bulk enqueue, \(tracked.word)")
        let operations = Bench.operations(count, tracked: tracked)
        let floor = try await Floors.push(bench)
        try await bench.rig.reset()
        let seconds = try await Bench.seconds {
            _ = try await bench.rig.broker.enqueueAll(operations, queue: BenchRig.queue) { _ in }
        }
        let work = try await bench.rig.commands()
        bench.report(
            Measurement(
                .enqueue,
                "bulk, \(tracked.word)",
                Double(count) / seconds,
                .perSecond,
                reference: .init(name: "RPUSH", value: floor),
                bounds: [.rateAtLeast(tracked ? 150_000 : 500_000)]
            )
        )
        bench.report(
            Measurement(
                .enqueue,
                "bulk, \(tracked.word), script time per operation",
                work.scriptMicroseconds / Double(count),
                .microseconds
            )
        )
    }
}
