import Operations
import RedisClient
import SluiceCLI

/// Measures how fast workers run operations.
struct DrainCases: Sendable {
    let bench: Bench

    func run() async throws {
        for tracked in [false, true] {
            let floor = Measurement.Reference(name: "Swift floor", value: try await Floors.swift(bench))
            for (processes, slots) in [(1, 1), (1, 10), (1, 100), (1, 1000), (2, 500)] {
                try await noop(tracked, processes: processes, slots: slots, floor)
            }
            try await budgeted(tracked)
        }
        for milliseconds in [1, 10] { try await sleeping(milliseconds) }
    }

    /// Measures one process with 500 slots, the case of the budgets.
    ///
    /// The budgets are in proportion to the present speed of the machine: the better of a floor before and one after. A
    /// disturbed floor would make the budgets too easy.
    private func budgeted(_ tracked: Bool) async throws {
        let before = try await Floors.swift(bench)
        let drain = try await drain(bench.size.operations, tracked: tracked, processes: 1, slots: 500)
        let floor = max(before, try await Floors.swift(bench))
        bench.report(
            Measurement(
                .drain,
                "no-op, \(tracked.word)",
                at: [("processes", 1), ("slots", 500)],
                drain.rate,
                .perSecond,
                reference: .init(name: "Swift floor", value: floor),
                bounds: tracked ? [.rateAtLeast(75_000)] : [.rateAtLeast(150_000), .ratioAtLeast(0.65)]
            ),
            speed: Floors.speed(swift: floor)
        )
        let count = Double(bench.size.operations)
        for (name, value, unit) in [
            ("script calls per operation", drain.work.scriptCalls / count, Measurement.Unit.count),
            ("commands per operation, inside scripts too", drain.work.allCalls / count, .count),
            ("script time per operation", drain.work.scriptMicroseconds / count, .microseconds),
        ] {
            bench.report(Measurement(.drain, "no-op, \(tracked.word), \(name)", value, unit))
        }
    }

    private func noop(_ tracked: Bool, processes: Int, slots: Int, _ floor: Measurement.Reference) async throws {
        // Cases with few slots are slow and get less work, so that they take about as long.
        let part = slots < 10 ? 20 : slots < 100 ? 4 : 1
        let count = bench.size.operations / part
        let drain = try await drain(count, tracked: tracked, processes: processes, slots: slots)
        bench.report(
            Measurement(
                .drain,
                "no-op, \(tracked.word)",
                at: [("processes", Double(processes)), ("slots", Double(slots))],
                drain.rate,
                .perSecond,
                reference: floor
            )
        )
    }

    private func drain(_ count: Int, tracked: Bool, processes: Int, slots: Int) async throws -> Bench.Drain {
        bench.progress("drain of \(tracked.word) no-ops: \(processes) processes, \(slots) slots")
        return try await bench.drain(count, processes: processes, slots: slots) {
            try await bench.fill(count, tracked: tracked)
        }
    }

    /// Drains operations that take time. The slots should be busy all the time.
    private func sleeping(_ milliseconds: Int) async throws {
        let slots = 100
        let count = milliseconds == 1 ? 50_000 : 10_000
        bench.progress("drain of operations of \(milliseconds) ms")
        try await bench.rig.reset()
        try await bench.rig.broker.setPaused(.pause(by: "bench"), queue: BenchRig.queue)
        let seconds = Double(milliseconds) / 1000
        let envelope = OperationEnvelope(name: "sleep", arguments: Array(#"{"seconds":\#(seconds)}"#.utf8)).encoded()
        let operations = (0..<count).map { _ in NewOperation(tracked: false, envelope: envelope) }
        _ = try await bench.rig.broker.enqueueAll(operations, queue: BenchRig.queue) { _ in }
        let worker = try await bench.rig.startWorker(slots: slots)
        let taken = try await Bench.seconds {
            try await bench.rig.broker.setPaused(.resume(by: "bench"), queue: BenchRig.queue)
            try await bench.rig.waitUntilFinished(count)
        }
        try await bench.rig.stop([worker])
        bench.report(
            Measurement(
                .drain,
                "operations that sleep",
                at: [("milliseconds", Double(milliseconds)), ("slots", Double(slots))],
                Double(count) / taken,
                .perSecond,
                reference: .init(name: "slots over time", value: Double(slots) / seconds)
            )
        )
    }
}

extension Bench {
    /// The rate at which waiting operations ran, and the work of Redis for it.
    struct Drain {
        var rate: Double
        var work: ServerWork
    }

    /// Fills the queue while it is paused, starts the workers, and resumes the queue.
    ///
    /// - Parameters:
    ///   - others: other queues that the workers serve.
    ///   - own: the number of operations in the queue itself; nil = all.
    func drain(
        _ count: Int,
        processes: Int,
        slots: Int,
        others: [String] = [],
        own: Int? = nil,
        fill: () async throws -> Void
    ) async throws -> Drain {
        try await rig.reset()
        try await rig.broker.setPaused(.pause(by: "bench"), queue: BenchRig.queue)
        try await fill()
        var workers: [WorkerProcess] = []
        let queues = ([BenchRig.queue] + others).joined(separator: ",")
        for _ in 0..<processes { workers.append(try await rig.startWorker(slots: slots, queues: queues)) }
        try await rig.control.send(RedisCommand("CONFIG", "RESETSTAT"))
        let seconds = try await Self.seconds {
            try await rig.broker.setPaused(.resume(by: "bench"), queue: BenchRig.queue)
            try await rig.waitUntilFinished(own ?? count)
        }
        let work = try await rig.commands()
        try await rig.stop(workers)
        return Drain(rate: Double(count) / seconds, work: work)
    }
}
