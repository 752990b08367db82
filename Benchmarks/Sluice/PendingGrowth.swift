import Operations
import SluiceCLI

/// Measures whether calls get slower when more operations wait.
///
/// Times are the server's own, so that the client does not blur them. A second server, on which 1,000 operations wait,
/// is asked interleaved with the first. So a change of the machine's speed does not look like growth.
struct PendingGrowth: Sendable {
    private static let few = 1000
    private static let mostTurns = 100
    let bench: Bench
    private let small: Bench

    init(bench: Bench) async throws {
        self.bench = bench
        small = Bench(rig: try await BenchRig.start(), size: bench.size, sink: bench.sink, progress: bench.progress)
    }

    func run() async throws {
        defer { small.rig.close() }
        for tracked in [false, true] {
            let counts = counts(tracked)
            for count in counts {
                bench.progress("growth: \(count) \(tracked.word) operations pending")
                for (server, waiting) in [(small, Self.few), (bench, count)] {
                    try await server.rig.reset()
                    try await server.fill(waiting, tracked: tracked)
                }
                try await compare(count, tracked, isFirst: count == counts[0])
            }
        }
    }

    private func counts(_ tracked: Bool) -> [Int] {
        let most = tracked ? min(bench.size.most, 1_000_000) : bench.size.most
        let counts = [100_000, 1_000_000, 5_000_000].filter { $0 <= most }
        return counts.isEmpty ? [most] : counts
    }

    private func compare(_ count: Int, _ tracked: Bool, isFirst: Bool) async throws {
        var few = try await PendingCalls(rig: small.rig, tracked: tracked)
        var many = try await PendingCalls(rig: bench.rig, tracked: tracked)
        for _ in 0..<min(bench.size.samples, Self.mostTurns) {
            try await few.turn()
            try await many.turn()
        }
        for (first, other) in zip(few.figures, many.figures) {
            if isFirst { report(first, tracked, Self.few) }
            report(other, tracked, count, than: first.microseconds)
        }
        try await bench.reportSlowScripts("with \(tracked.word) operations pending", Double(count))
    }

    private func report(_ figure: PendingCalls.Figure, _ tracked: Bool, _ count: Int, than first: Double? = nil) {
        bench.report(
            Measurement(
                .growth,
                "\(figure.name), \(tracked.word), server time",
                at: [("pending", Double(count))],
                figure.microseconds,
                .microseconds,
                reference: first.map { .init(name: "1,000 pending, in turns", value: $0) },
                bounds: first == nil ? [] : [.ratioAtMost(tracked ? 1.3 : 1.1)]
            )
        )
    }
}

/// The calls of one server with a constant number of pending operations.
///
/// After each enqueue, as many of the oldest operations are claimed and completed. Tracked operations leave their
/// records behind, as many on both servers.
private struct PendingCalls {
    typealias Figure = (name: String, microseconds: Double)

    private let rig: BenchRig
    private let tracked: Bool
    private let worker = WorkerID()
    /// The number of operations in a call of a bulk enqueue.
    private let count: Int
    private var enqueues: [Double] = []
    private var drains: [Double] = []
    private var snapshots: [Double] = []

    init(rig: BenchRig, tracked: Bool) async throws {
        self.rig = rig
        self.tracked = tracked
        count = EnqueueBatches(Bench.operations(SluiceDefaults.batch, tracked: tracked)).first { _ in true }?.count ?? 0
        let beat = Beat(worker: worker, epoch: 0, leaseMilliseconds: 600_000, intervalMilliseconds: 5000, info: [])
        _ = try rig.broker.beat(beat, queue: BenchRig.queue)
    }

    mutating func turn() async throws {
        let operations = Bench.operations(count, tracked: tracked)
        enqueues.append(try await time { _ = try await rig.broker.enqueue(operations, queue: BenchRig.queue) })
        drains.append(try await time { try await drain() })
        snapshots.append(
            try await time { _ = try await rig.broker.snapshot(queue: BenchRig.queue, executingRows: 100) }
        )
    }

    /// The lower quartiles, because every disturbance makes a call longer.
    var figures: [Figure] {
        [
            ("enqueue of \(count)", Self.quartile(enqueues)),
            ("claim and completion of \(count)", Self.quartile(drains)),
            ("snapshot", Self.quartile(snapshots)),
        ]
    }

    private static func quartile(_ times: [Double]) -> Double { times.sorted()[times.count / 4] }

    private func drain() async throws {
        var rest = count
        while rest > 0 {
            let request = ClaimRequest(worker: worker, epoch: 0, capacity: rest)
            let operations = try await rig.broker.claim(request, queue: BenchRig.queue).operations
            guard !operations.isEmpty else { throw CLIError(.bug, "nothing was claimed of what waits") }
            let reply = try await rig.broker.complete(
                operations.map { Completion(fence: $0.fence, id: $0.id, tracked: $0.header.tracked) },
                isRepeat: false,
                worker: worker,
                thenClaim: nil,
                queue: BenchRig.queue
            )
            guard reply.outcomes.allSatisfy({ $0 == .done(.finished) }) else {
                throw CLIError(.bug, "some claimed operations could not be completed")
            }
            rest -= operations.count
        }
    }

    /// Returns the time in scripts, in microseconds.
    private func time(_ body: () async throws -> Void) async throws -> Double {
        let before = try await rig.commands().scriptMicroseconds
        try await body()
        return try await rig.commands().scriptMicroseconds - before
    }
}
