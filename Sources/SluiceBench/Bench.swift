import Operations
import RedisClient
import Sluice

/// Runs groups of measurements one after the other on a rig, and hands out each figure as soon as it is known.
struct Bench: Sendable {
    /// How much work a run does.
    struct Size: Sendable {
        /// Operations of a throughput case.
        var operations: Int
        /// Up to how many pending ones growth is looked at.
        var most: Int
        /// Over how many a worker's memory is watched.
        var endured: Int
        /// Samples of a latency.
        var samples: Int
        /// Seconds to look at an idle worker.
        var idleSeconds: Int

        static let short = Size(operations: 100_000, most: 100_000, endured: 200_000, samples: 200, idleSeconds: 20)
        static let usual = Size(
            operations: 200_000,
            most: 1_000_000,
            endured: 1_000_000,
            samples: 1000,
            idleSeconds: 30
        )
        static let full = Size(
            operations: 500_000,
            most: 5_000_000,
            endured: 10_000_000,
            samples: 5000,
            idleSeconds: 60
        )
    }

    let rig: BenchRig
    let size: Size
    /// Gets each figure.
    let sink: @Sendable (Measurement) -> Void
    /// Says what goes on.
    let progress: @Sendable (String) -> Void
    /// See ``Measurement/speed``: as the run began.
    private(set) var speed = 1.0

    func run(_ groups: Set<Measurement.Group>) async throws {
        let floors = try await Floors.measure(self)
        var bench = self
        bench.speed = floors.speed.value
        if groups.contains(.floor) { for floor in floors.measurements { report(floor) } }
        if bench.speed < 1 { report(floors.speed) }
        try await bench.runGroups(groups)
    }

    private func runGroups(_ groups: Set<Measurement.Group>) async throws {
        for group in Measurement.Group.allCases where groups.contains(group) {
            switch group {
            case .floor: break
            case .enqueue: try await EnqueueCases(bench: self).run()
            case .drain: try await DrainCases(bench: self).run()
            case .typed: try await TypedCases(bench: self).run()
            case .latency: try await LatencyCases(bench: self).run()
            case .memory: try await MemoryCases(bench: self).run()
            case .idle: try await IdleCases(bench: self).run()
            case .growth: try await GrowthCases(bench: self).run()
            case .network: try await NetworkCases(bench: self).run()
            case .durable: try await DurableCases(bench: self).run()
            case .flow: try await FlowCases(bench: self).run()
            }
        }
    }

    /// - Parameter speed: of the machine just now, where that was measured beside it; nil = as when the run began.
    func report(_ measurement: Measurement, speed: Double? = nil) {
        var measurement = measurement
        measurement.speed = speed ?? self.speed
        sink(measurement)
    }

    // MARK: What cases share

    static let arguments = #"{"number":12345,"text":"\#(String(repeating: "x", count: 60))"}"#
    /// Name and arguments, without what Sluice adds.
    static let payloadBytes = "noop".utf8.count + arguments.utf8.count

    /// Operations whose name and arguments have 90 bytes.
    static func operations(_ count: Int, tracked: Bool, delayMilliseconds: Int64 = 0) -> [NewOperation] {
        let envelope = OperationEnvelope(name: "noop", arguments: Array(arguments.utf8)).encoded()
        return (0..<count).map { _ in
            NewOperation(tracked: tracked, delayMilliseconds: delayMilliseconds, envelope: envelope)
        }
    }

    /// Fills the queue, in parts, so that a million operations are not held here at once.
    func fill(_ count: Int, tracked: Bool, delayMilliseconds: Int64 = 0) async throws {
        var rest = count
        while rest > 0 {
            let part = min(rest, 50_000)
            let operations = Self.operations(part, tracked: tracked, delayMilliseconds: delayMilliseconds)
            _ = try await rig.broker.enqueueAll(operations, queue: BenchRig.queue) { _ in }
            rest -= part
        }
    }

    /// How many scripts took longer than a server may be held up, since the slow log was emptied.
    func reportSlowScripts(_ what: String, _ pending: Double) async throws {
        let count = try await rig.control.send(RedisCommand("SLOWLOG", "LEN")).int ?? 0
        report(
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

    /// How long something takes, in seconds.
    static func seconds(_ body: () async throws -> Void) async rethrows -> Double {
        let start = ContinuousClock.now
        try await body()
        return (ContinuousClock.now - start).inSeconds
    }
}

extension Bool {
    var word: String { self ? "tracked" : "untracked" }
}
