import Operations
import RedisClient

/// Measures how fast producers enqueue.
struct EnqueueCases: Sendable {
    let bench: Bench

    func run() async throws {
        try await oneByOne()
        try await concurrently()
        for tracked in [false, true] { try await bulk(tracked) }
    }

    /// Enqueues one by one, interleaved with PINGs over the same connection and with a script that does nothing.
    private func oneByOne() async throws {
        bench.progress("enqueue one by one")
        try await bench.rig.reset()
        let (broker, control) = (bench.rig.broker, bench.rig.control)
        let digest = try await control.send(RedisCommand("SCRIPT", "LOAD", "return '1'")).string ?? ""
        func enqueue(_ operation: NewOperation) async throws {
            _ = try await broker.enqueue([operation], queue: BenchRig.queue)
        }
        func ping() async throws { try await broker.connect() }
        func pingControl() async throws { try await control.send(RedisCommand("PING")) }
        func runNothing(_ operation: NewOperation) async throws {
            try await control.send(RedisCommand("EVALSHA", digest, "1", BenchRig.queue, operation.element))
        }
        let turns = 100
        let each = max(1, bench.size.operations / 40 / turns)
        var (tracked, untracked, nothing) = (TurnTimes(bench.rig), TurnTimes(bench.rig), TurnTimes(bench.rig))
        for _ in 0..<turns {
            try await tracked.turn(of: Bench.operations(each, tracked: true), after: ping, enqueue)
            try await untracked.turn(of: Bench.operations(each, tracked: false), after: ping, enqueue)
            try await nothing.turn(of: Bench.operations(each, tracked: true), after: pingControl, runNothing)
        }
        let bound = [Measurement.Bound.ratioAtLeast(0.8)]
        for measurement in tracked.measurements("one by one, awaited, tracked", bound)
            + untracked.measurements("one by one, awaited, untracked", bound)
            + nothing.measurements("an empty script, awaited", [])
        {
            bench.report(measurement)
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

/// The durations of calls, the server's part in their scripts, and as many interleaved PINGs.
private struct TurnTimes {
    private let rig: BenchRig
    private var count = 0
    private var pings = 0.0
    private var calls = 0.0
    private var scriptMicroseconds = 0.0

    init(_ rig: BenchRig) { self.rig = rig }

    mutating func turn(
        of operations: [NewOperation],
        after ping: () async throws -> Void,
        _ call: (NewOperation) async throws -> Void
    ) async throws {
        count += operations.count
        let before = try await rig.commands().scriptMicroseconds
        pings += try await Bench.seconds { for _ in operations { try await ping() } }
        calls += try await Bench.seconds { for operation in operations { try await call(operation) } }
        scriptMicroseconds += try await rig.commands().scriptMicroseconds - before
    }

    func measurements(_ name: String, _ bounds: [Measurement.Bound]) -> [Measurement] {
        let ping = Measurement.Reference(name: "PING in turns with it", value: Double(count) / pings)
        let scriptTime = scriptMicroseconds / Double(count)
        return [
            Measurement(.enqueue, name, Double(count) / calls, .perSecond, reference: ping, bounds: bounds),
            Measurement(.enqueue, name + ", script time", scriptTime, .microseconds),
        ]
    }
}
