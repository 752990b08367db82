import Operations
import RedisClient
import Sluice

/// Runs groups of measurements one after the other on a rig, and reports each value as soon as it is known.
struct Bench: Sendable {
    /// The amount of work of a run.
    struct Size: Sendable {
        /// The number of operations of a throughput case.
        var operations: Int
        /// The most pending operations of the growth cases.
        var most: Int
        /// The number of operations over which a worker's memory is watched.
        var endured: Int
        /// The number of samples of a latency.
        var samples: Int
        /// The seconds to watch an idle worker.
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
    /// Receives each measurement.
    let sink: @Sendable (Measurement) -> Void
    /// Receives a sentence about the current step.
    let progress: @Sendable (String) -> Void
    /// The speed of the machine when the run began; see ``Measurement/speed``.
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

    /// - Parameter speed: the speed of the machine at this moment, if it was measured beside the case; nil = the speed
    ///   when the run began.
    func report(_ measurement: Measurement, speed: Double? = nil) {
        var measurement = measurement
        measurement.speed = speed ?? self.speed
        sink(measurement)
    }

    // MARK: Shared by cases

    static let arguments = #"{"number":12345,"text":"\#(String(repeating: "x", count: 60))"}"#
    /// The bytes of name and arguments, without the parts that Sluice adds.
    static let payloadBytes = "noop".utf8.count + arguments.utf8.count

    /// Operations whose name and arguments have 90 bytes.
    static func operations(_ count: Int, tracked: Bool, delayMilliseconds: Int64 = 0) -> [NewOperation] {
        let envelope = OperationEnvelope(name: "noop", arguments: Array(arguments.utf8)).encoded()
        return (0..<count).map { _ in
            NewOperation(tracked: tracked, delayMilliseconds: delayMilliseconds, envelope: envelope)
        }
    }

    /// Fills the queue in parts, so that this process never holds a million operations at once.
    func fill(_ count: Int, tracked: Bool, delayMilliseconds: Int64 = 0) async throws {
        var rest = count
        while rest > 0 {
            let part = min(rest, 50_000)
            let operations = Self.operations(part, tracked: tracked, delayMilliseconds: delayMilliseconds)
            _ = try await rig.broker.enqueueAll(operations, queue: BenchRig.queue) { _ in }
            rest -= part
        }
    }

    /// Reports the number of scripts since the last reset of the slow log that took longer than the budget allows.
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

    /// Returns the duration of `body` in seconds.
    static func seconds(_ body: () async throws -> Void) async rethrows -> Double {
        let start = ContinuousClock.now
        try await body()
        return (ContinuousClock.now - start).inSeconds
    }
}

extension Bool {
    var word: String { self ? "tracked" : "untracked" }
}
