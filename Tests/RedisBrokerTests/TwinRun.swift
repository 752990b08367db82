import Operations
import RedisBroker
import SluiceTesting

/// The in-memory broker and the Redis broker side by side.
struct TwinRun {
    private let queue = "steps"
    private let model: InMemoryBroker
    private let clocked: ClockedBroker
    private let redisLayout: RedisLayout
    private var steps: RandomSteps
    private var recent: [(number: Int, time: Int64, step: RandomStep, outcome: String)] = []
    private var layout: [String] = []

    init(seed: UInt64) async throws {
        clocked = try await ClockedBroker(queue: queue)
        model = InMemoryBroker(time: .manual(clocked.clock))
        steps = RandomSteps(seed: seed, workers: 3)
        redisLayout = RedisLayout(server: clocked.direct, prefix: clocked.prefix, workers: steps.workers)
    }

    private var redis: RedisBroker { clocked.redis }

    func close() { clocked.close() }

    /// The last 30 steps, the failing one last.
    var recentSteps: String {
        Self.brief(recent.map { "\($0.number) @\($0.time) \($0.step) → \($0.outcome)" }.joined(separator: "\n"))
    }

    /// Does one step on both sides.
    ///
    /// - Returns: how the two differ, or which rule both break; nil if all is well.
    mutating func step(_ number: Int) async throws -> String? {
        let held = try await held()
        let load = layout.count { !$0.hasPrefix("ended") }
        let step = steps.next(held: held, load: load, hasBell: layout.contains("bell"))
        if case .advance(let duration) = step {
            try await clocked.advance(by: duration)
        }
        let expected = try await step.outcome(on: model, queue: queue)
        recent.append((number, clocked.clock.now, step, expected))
        if recent.count > 30 { recent.removeFirst() }
        let actual = try await step.outcome(on: redis, queue: queue)
        if actual != expected { return Self.brief("Redis answers \(actual)") }
        return try await differenceOfState(isComplete: number % 100 == 0)
    }

    private static func brief(_ text: String) -> String {
        text.replacing("Operations.", with: "").replacing(/\[\d+(, \d+)+\]/, with: "[bytes]")
    }

    private func held() async throws -> [RandomSteps.Hold] {
        try await model.snapshot(queue: queue, executingRows: .max).executing.map { row in
            RandomSteps.Hold(worker: WorkerID(row.worker), fence: row.fence, header: row.header)
        }
    }

    // MARK: - Comparing

    /// Complete = with all of what has ended, not only the newest.
    private mutating func differenceOfState(isComplete: Bool) async throws -> String? {
        let endedRows = isComplete ? Int.max : 10
        layout = model.layout(queue: queue, endedRows: endedRows)
        let stored = try await redisLayout.lines(endedRows: endedRows)
        if stored != layout { return Self.difference(expected: layout, actual: stored) }
        let ids = Array(Set(steps.tracked))
        let expected = try await model.details(ids, queue: queue)
        let actual = try await redis.details(ids, queue: queue)
        for (left, right) in zip(expected, actual) where left != right {
            return "details differ\n  model: \(Self.text(left))\n  Redis: \(Self.text(right))"
        }
        if let difference = try await differenceOfSnapshots() { return difference }
        return Conservation(layout: layout, isComplete: isComplete).violation(in: zip(ids, actual).map { ($0, $1) })
    }

    private func differenceOfSnapshots() async throws -> String? {
        let expected = Self.lines(try await model.snapshot(queue: queue, executingRows: 20))
        let actual = Self.lines(try await redis.snapshot(queue: queue, executingRows: 20))
        return expected == actual ? nil : "snapshots: " + Self.difference(expected: expected, actual: actual)
    }

    private static func difference(expected: [String], actual: [String]) -> String {
        let (model, redis) = (Set(expected), Set(actual))
        return "what is stored differs\n  only in the model: \(model.subtracting(redis).sorted())\n"
            + "  only in Redis:     \(redis.subtracting(model).sorted())"
    }

    private static func text(_ detail: OperationDetail?) -> String { detail.map { String(describing: $0) } ?? "none" }

    private static func lines(_ snapshot: QueueSnapshot) -> [String] {
        [
            "time \(snapshot.time)", "paused \(snapshot.paused) \(String(describing: snapshot.pausedUntil))",
            "oldest \(String(describing: snapshot.oldestReadyMilliseconds))", "events \(snapshot.eventSequence)",
        ]
            + OperationState.allCases.map { "count \($0) \(snapshot.counts[$0] ?? 0)" }
            + snapshot.totals.filter { $0.value != 0 }.map { "total \($0.key) \($0.value)" }.sorted()
            + snapshot.workers.map { "\($0)" } + snapshot.executing.map { "\($0)" }
    }
}
