import Operations
import RedisClient

/// Measures the cost of limits, limit keys and dependencies.
///
/// Each case drains a whole queue, interleaved with drains of as many plain tracked operations.
struct FlowCases: Sendable {
    private static let slots = 500
    let bench: Bench

    /// The number of interleaved drains. A small run only tests the benchmark.
    private var pairs: Int { bench.size.operations < 10_000 ? 1 : 7 }
    private func atMost(_ count: Int) -> Int { min(count, max(1000, bench.size.operations)) }

    /// A kind of operations, and the limits of their queue.
    private struct Kind: Sendable {
        var name: String
        var limits: [QueueLimit] = []
        var least: Double
        var links: @Sendable (_ number: Int) -> OperationLinks?
    }

    private static let kinds = [
        Kind(name: "limits of the queue", limits: [.concurrency(10_000)], least: 0.8) { _ in nil },
        Kind(name: "limit keys, 100 of them", least: 0.8) { OperationLinks(limitKey: "tenant-\($0 % 100)") },
        Kind(name: "unique keys, one each", least: 0.6) { number in
            OperationLinks(unique: UniqueClaim(key: "key \(number)", policy: .join))
        },
    ]

    func run() async throws {
        for kind in Self.kinds { try await compare(kind) }
        try await fan()
        try await fanOverQueues()
        try await chain()
        try await serial()
    }

    // MARK: Drains

    private func compare(_ kind: Kind) async throws {
        let count = bench.size.operations / 4
        var plain: [Bench.Drain] = []
        var others: [Bench.Drain] = []
        for number in 1...pairs {
            bench.progress("drain with \(kind.name): pair \(number) of \(pairs)")
            plain.append(try await drain(count) { try await bench.fill(count, tracked: true) })
            others.append(
                try await drain(count) {
                    if !kind.limits.isEmpty {
                        _ = try await bench.rig.broker.setLimits(kind.limits, by: "bench", queue: BenchRig.queue)
                    }
                    try await fill(count, kind.links)
                }
            )
        }
        report("no-op, tracked, with \(kind.name)", plain, others, count, least: kind.least)
    }

    private func drain(_ count: Int, fill: () async throws -> Void) async throws -> Bench.Drain {
        try await bench.drain(count, processes: 1, slots: Self.slots, fill: fill)
    }

    private func fill(_ count: Int, _ links: (Int) -> OperationLinks?) async throws {
        var operations = Bench.operations(count, tracked: true)
        for index in operations.indices { operations[index].links = links(index) }
        _ = try await bench.rig.broker.enqueueAll(operations, queue: BenchRig.queue) { _ in }
    }

    private func report(
        _ name: String,
        _ plain: [Bench.Drain],
        _ others: [Bench.Drain],
        _ count: Int,
        least: Double
    ) {
        let rate = Self.median(others.map(\.rate))
        let ratio = Self.median(zip(others, plain).map { $0.rate / $1.rate })
        bench.report(
            Measurement(
                .flow,
                name,
                at: [("slots", Double(Self.slots))],
                rate,
                .perSecond,
                reference: .init(name: "plain drain beside it", value: rate / ratio),
                bounds: [.ratioAtLeast(least)]
            )
        )
        func microseconds(_ drains: [Bench.Drain]) -> Double {
            Self.median(drains.map { $0.work.scriptMicroseconds / Double(count) })
        }
        bench.report(
            Measurement(
                .flow,
                "\(name), script time per operation",
                microseconds(others),
                .microseconds,
                reference: .init(name: "plain drain beside it", value: microseconds(plain))
            )
        )
    }

    // MARK: Dependencies

    /// One operation, then many that depend on it, then one that depends on all of them, over joints of 500.
    private func fan() async throws {
        let count = atMost(10_000)
        var plain: [Bench.Drain] = []
        var others: [Bench.Drain] = []
        for number in 1...pairs {
            bench.progress("fan of \(count): pair \(number) of \(pairs)")
            plain.append(try await drain(count) { try await bench.fill(count, tracked: true) })
            let total = count + 2 + count / OperationLinks.dependenciesOfACall
            others.append(try await drain(total) { try await fillFan(count) })
        }
        report("1 → \(count) → 1", plain, others, count, least: 0.25)
    }

    private func fillFan(_ count: Int) async throws {
        let step = OperationLinks.dependenciesOfACall
        let first = Bench.operations(1, tracked: true)
        var middle = Bench.operations(count, tracked: true)
        for index in middle.indices { middle[index].links = OperationLinks(after: [OperationDependency(first[0].id)]) }
        var joints = Bench.operations(count / step, tracked: true)
        for index in joints.indices {
            let part = middle[(index * step)..<((index + 1) * step)]
            joints[index].links = OperationLinks(after: part.map { OperationDependency($0.id) })
        }
        var last = Bench.operations(1, tracked: true)
        last[0].links = OperationLinks(after: joints.map { OperationDependency($0.id) })
        _ = try await bench.rig.broker.enqueueAll(first + middle + joints + last, queue: BenchRig.queue) { _ in }
    }

    /// Runs the fan with the many operations in another queue, and three workers for both queues.
    private func fanOverQueues() async throws {
        let (count, processes) = (atMost(10_000), 3)
        var plain: [Bench.Drain] = []
        var others: [Bench.Drain] = []
        for number in 1...pairs {
            bench.progress("fan of \(count) over two queues: pair \(number) of \(pairs)")
            plain.append(
                try await bench.drain(count, processes: processes, slots: Self.slots) {
                    try await bench.fill(count, tracked: true)
                }
            )
            let own = 2 + count / OperationLinks.dependenciesOfACall
            others.append(
                try await bench.drain(
                    count + own,
                    processes: processes,
                    slots: Self.slots,
                    others: [Self.otherQueue],
                    own: own
                ) {
                    try await fillFan(count, over: Self.otherQueue)
                }
            )
        }
        report("1 → \(count) → 1 over two queues, three workers", plain, others, count, least: 0.25)
    }

    private static let otherQueue = "bench-other"

    private func fillFan(_ count: Int, over other: String) async throws {
        let (step, broker) = (OperationLinks.dependenciesOfACall, bench.rig.broker)
        let first = Bench.operations(1, tracked: true)
        _ = try await broker.enqueueAll(first, queue: BenchRig.queue) { _ in }
        var middle = Bench.operations(count, tracked: true)
        let links = try await links(to: first, in: BenchRig.queue, from: other)
        for index in middle.indices { middle[index].links = links }
        _ = try await broker.enqueueAll(middle, queue: other) { _ in }
        var joints = Bench.operations(count / step, tracked: true)
        for index in joints.indices {
            let part = Array(middle[(index * step)..<((index + 1) * step)])
            joints[index].links = try await self.links(to: part, in: other, from: BenchRig.queue)
        }
        var last = Bench.operations(1, tracked: true)
        last[0].links = OperationLinks(after: joints.map { OperationDependency($0.id) })
        _ = try await broker.enqueueAll(joints + last, queue: BenchRig.queue) { _ in }
    }

    private func links(
        to operations: [NewOperation],
        in queue: String,
        from dependentQueue: String
    ) async throws -> OperationLinks? {
        let said = try await bench.rig.broker.link(operations.map(\.id), in: queue, from: dependentQueue)
        var links = OperationLinks(after: operations.map { OperationDependency($0.id, queue: queue) })
        for state in said { links?.said[DependencyName(state.id, queue: queue)] = state }
        return links
    }

    /// Each operation depends on the one before it, so that only one runs at a time.
    private func chain() async throws {
        let count = atMost(20_000)
        bench.progress("chain of \(count)")
        let before = try await Floors.ping(bench)
        let chain = try await drain(count) {
            var operations = Bench.operations(count, tracked: true)
            for index in operations.indices.dropFirst() {
                operations[index].links = OperationLinks(after: [OperationDependency(operations[index - 1].id)])
            }
            _ = try await bench.rig.broker.enqueueAll(operations, queue: BenchRig.queue) { _ in }
        }
        report("chain of \(count)", chain, ping: max(before, try await Floors.ping(bench)), least: 0.3)
    }

    private func serial() async throws {
        let count = atMost(20_000)
        bench.progress("serial queue on four workers")
        let before = try await Floors.ping(bench)
        let serial = try await bench.drain(count, processes: 4, slots: 10) {
            _ = try await bench.rig.broker.setLimits([.concurrency(1)], by: "bench", queue: BenchRig.queue)
            try await bench.fill(count, tracked: true)
        }
        report("serial queue, four workers", serial, ping: max(before, try await Floors.ping(bench)), least: 0.2)
    }

    private func report(_ name: String, _ drain: Bench.Drain, ping: Double, least: Double) {
        bench.report(
            Measurement(
                .flow,
                name,
                drain.rate,
                .perSecond,
                reference: .init(name: "PING one by one", value: ping),
                bounds: [.ratioAtLeast(least)]
            )
        )
    }

    private static func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }
}
