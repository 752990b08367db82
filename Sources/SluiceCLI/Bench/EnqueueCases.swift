import Operations
import Sluice

/// How fast producers are.
struct EnqueueCases: Sendable {
    private struct Picture: DistributedOperation {
        static let name = "noop"
        var number: Int
        var text: String
        func main(_ context: OperationContext) async throws {}
    }

    let bench: Bench
    let floors: Floors

    func run() async throws {
        try await oneByOne()
        try await concurrently()
        for tracked in [false, true] { try await bulk(tracked) }
        try await typed()
    }

    private func oneByOne() async throws {
        let count = bench.size.operations / 40
        bench.progress("enqueue one by one")
        try await bench.rig.reset()
        let operations = Bench.operations(count, tracked: true)
        let seconds = try await Bench.seconds {
            for operation in operations { _ = try await bench.rig.broker.enqueue([operation], queue: BenchRig.queue) }
        }
        bench.report(
            Measurement(
                .enqueue,
                "one by one, awaited",
                Double(count) / seconds,
                .perSecond,
                reference: .init(name: "PING", value: floors.ping),
                bounds: [.ratioAtLeast(0.8)]
            )
        )
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
        try await bench.rig.reset()
        let operations = Bench.operations(count, tracked: tracked)
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
                reference: .init(name: "RPUSH", value: floors.push),
                bounds: [.atLeast(tracked ? 150_000 : 500_000)]
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

    /// With the user's type and Foundation's encoder.
    private func typed() async throws {
        let count = bench.size.operations
        bench.progress("bulk enqueue of a Codable type")
        try await bench.rig.reset()
        let pictures = (0..<count).map { Picture(number: $0, text: String(repeating: "x", count: 60)) }
        var options = EnqueueOptions()
        options.tracked = false
        let seconds = try await Bench.seconds {
            _ = try await bench.rig.client.enqueue(pictures, queue: BenchRig.queue, options: options)
        }
        bench.report(
            Measurement(.enqueue, "bulk, untracked, a Codable type", Double(count) / seconds, .perSecond)
        )
    }
}
