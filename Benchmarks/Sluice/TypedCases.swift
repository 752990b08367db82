import Operations
import Sluice
import WorkerRuntime

/// Measures typed operations: a `Codable` type is encoded where it is enqueued, and decoded where it runs.
///
/// The other cases leave out both steps, because their cost is Foundation's and not the queue's.
struct TypedCases: Sendable {
    struct Picture: DistributedOperation {
        static let name = "bench.picture"
        var number: Int
        var text: String
        func main(_ context: OperationContext) async throws {}
    }

    let bench: Bench
    /// A few settings, of which the fastest may count, as `Benchmarks/compare` does with other queues.
    private static let drained = [(processes: 1, slots: 100), (1, 1000), (2, 500)]

    func run() async throws {
        for tracked in [true, false] {
            try await oneByOne(tracked)
            try await concurrently(tracked)
            try await bulk(tracked)
            try await drain(tracked)
        }
    }

    private func oneByOne(_ tracked: Bool) async throws {
        let pictures = Self.pictures(max(1, bench.size.operations / 40))
        bench.progress("a type one by one, \(tracked.word)")
        try await bench.rig.reset()
        let seconds = try await Bench.seconds {
            for picture in pictures { try await enqueue(picture, tracked) }
        }
        report("a type one by one, awaited, \(tracked.word)", Double(pictures.count) / seconds)
    }

    private func concurrently(_ tracked: Bool) async throws {
        let tasks = 64
        let pictures = Self.pictures(max(1, bench.size.operations / 10 / tasks))
        bench.progress("a type from \(tasks) tasks, \(tracked.word)")
        try await bench.rig.reset()
        let seconds = try await Bench.seconds {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<tasks {
                    group.addTask { for picture in pictures { try await enqueue(picture, tracked) } }
                }
                try await group.waitForAll()
            }
        }
        report("a type from 64 tasks, one each, \(tracked.word)", Double(tasks * pictures.count) / seconds)
    }

    private func bulk(_ tracked: Bool) async throws {
        let pictures = Self.pictures(bench.size.operations)
        bench.progress("bulk enqueue of a type, \(tracked.word)")
        try await bench.rig.reset()
        let seconds = try await Bench.seconds { try await enqueue(pictures, tracked) }
        report("a type in bulk, \(tracked.word)", Double(pictures.count) / seconds)
    }

    private func drain(_ tracked: Bool) async throws {
        let pictures = Self.pictures(bench.size.operations)
        let name = "a type that does nothing, \(tracked.word)"
        var drains: [Bench.Drain] = []
        for (processes, slots) in Self.drained {
            bench.progress("drain of a type, \(tracked.word): \(processes) processes, \(slots) slots")
            let drain = try await bench.drain(pictures.count, processes: processes, slots: slots) {
                try await enqueue(pictures, tracked)
            }
            report(name, drain.rate, at: [("processes", Double(processes)), ("slots", Double(slots))])
            drains.append(drain)
        }
        guard let fastest = drains.max(by: { $0.rate < $1.rate }) else { return }
        let commands = fastest.work.allCalls / Double(pictures.count)
        bench.report(Measurement(.typed, "\(name), commands per operation, the fastest", commands, .count))
    }

    private static func pictures(_ count: Int) -> [Picture] {
        (0..<count).map { Picture(number: $0, text: String(repeating: "x", count: 60)) }
    }

    private func enqueue(_ picture: Picture, _ tracked: Bool) async throws {
        try await bench.rig.client.enqueue(picture, .queue(BenchRig.queue), tracked ? .tracked : .untracked)
    }

    private func enqueue(_ pictures: [Picture], _ tracked: Bool) async throws {
        try await bench.rig.client.enqueue(pictures, .queue(BenchRig.queue), tracked ? .tracked : .untracked)
    }

    private func report(_ name: String, _ rate: Double, at parameters: [(String, Double)] = []) {
        bench.report(Measurement(.typed, name, at: parameters, rate, .perSecond))
    }
}
