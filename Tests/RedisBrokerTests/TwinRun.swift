import Foundation
import Operations
import RedisClient
import BrokerModel
import TestSupport

@testable import RedisBroker

/// Runs the in-memory broker and the Redis broker side by side.
struct TwinRun {
    private let queue = "steps"
    /// A separate server, because a step that flushes scripts would make all other tests reload theirs.
    private let server: TestServer
    private let model: InMemoryBroker
    private let clocked: ClockedBroker
    private let redisLayout: RedisLayout
    private var steps: RandomSteps
    private var recent: [(number: Int, time: Int64, step: RandomStep, outcome: StepOutcome)] = []
    private var layout = QueueLayout()
    private var snapshot = QueueSnapshot(queue: "steps", time: 0)
    /// The last replies of Redis and their decoded values. Equal replies are not decoded again.
    private var look: RedisLayout.Look?
    private var details: [OperationID: OperationDetail?] = [:]

    /// - Parameter scriptEdit: an edit that breaks a rule in the scripts.
    init(seed: UInt64, scriptEdit: (@Sendable (String) -> String)? = nil) async throws {
        server = try TestServer.start()
        clocked = try await ClockedBroker(queue: queue, endpoint: server.endpoint, scriptEdit: scriptEdit)
        model = InMemoryBroker(time: .manual(clocked.clock))
        steps = RandomSteps(seed: seed, workers: 3)
        redisLayout = RedisLayout(clocked, queue: queue, workers: steps.workers)
    }

    private var redis: RedisBroker { clocked.redis }

    func close() {
        redisLayout.close()
        clocked.close()
        server.stop()
    }

    /// The last 30 steps, the failing one last.
    var recentSteps: String {
        Self.brief(
            recent.suffix(30).map { "\($0.number) @\($0.time) \($0.step) → \($0.outcome)" }.joined(separator: "\n")
        )
    }

    /// Runs one step on both brokers.
    ///
    /// - Returns: the difference, or the rule that both break; nil = no difference.
    mutating func step(_ number: Int) async throws -> String? {
        let held = snapshot.executing.map {
            RandomSteps.Hold(worker: WorkerID($0.worker), fence: $0.fence, header: $0.header)
        }
        let (step, isHeard) = steps.next(held: held, load: layout.load, hasToken: layout.hasToken)
        switch step {
        case .advance(let duration): try await clocked.advance(by: duration)
        case .forgetScripts: try await clocked.direct.send(RedisCommand("SCRIPT", "FLUSH")).expectSuccess()
        default: break
        }
        let expected = try await step.outcome(on: model, queue: queue)
        if recent.count > 200 { recent.removeFirst(170) }
        recent.append((number, clocked.clock.now, step, expected))
        let actual = try await step.outcome(on: redis, queue: queue)
        if isHeard, actual != expected { return Self.brief("Redis answers \(actual)") }
        return try await differenceOfState(isComplete: number % 100 == 0)
    }

    private static func brief(_ text: String) -> String {
        text.replacing("Operations.", with: "").replacing(/\[\d+(, \d+){40,}\]/, with: "[bytes]")
    }

    // MARK: - Comparing

    /// - Parameter isComplete: whether to compare all ended operations, not only the newest.
    private mutating func differenceOfState(isComplete: Bool) async throws -> String? {
        let endedRows = isComplete ? Int.max : 10
        let ids = Array(Set(steps.tracked))
        let next = try await redisLayout.look(at: ids, endedRows: endedRows)
        defer { look = next }
        layout = model.layout(queue: queue, workers: steps.workers, endedRows: endedRows, after: layout)
        if let difference = difference(from: next.text.string ?? "") { return difference }
        if let difference = try await difference(from: next, ids) { return difference }
        if let difference = try await differenceOfCancelled() { return difference }
        return Conservation(layout, isComplete: isComplete).violation(in: details)
    }

    /// Compares the lists of operations ended by a cancel of the queue, which exist until they are cleared away.
    private func differenceOfCancelled() async throws -> String? {
        // The lists have many pages, so they are not compared after each step.
        guard layout.hasCancelledBatches, (recent.last?.number ?? 0) % 5 == 0 else { return nil }
        let (expected, actual) = (try await cancelled(on: model), try await cancelled(on: redis))
        guard expected != actual else { return nil }
        return "lists of cancelled ones differ\n  model: \(expected)\n  Redis: \(actual)"
    }

    private func cancelled(on broker: some MonitorBroker) async throws -> [OperationID] {
        var ids: [OperationID] = []
        var cursor: String?
        repeat {
            let page = try await broker.page(state: .cancelled, queue: queue, cursor: cursor, limit: 7)
            ids += page.operations.map(\.record.header.id)
            cursor = page.cursor
        } while cursor != nil && ids.count < 60
        return Array(ids.prefix(60))
    }

    private func difference(from text: String) -> String? {
        guard text != layout.text else { return nil }
        let lines = { (text: String) in text.split(separator: "\n").map(String.init) }
        return Self.difference(expected: lines(layout.text), actual: lines(text))
    }

    private mutating func difference(from next: RedisLayout.Look, _ ids: [OperationID]) async throws -> String? {
        let expected = try await model.details(ids, queue: queue)
        let before = details
        details.removeAll(keepingCapacity: true)
        for (id, expected) in zip(ids, expected) {
            var actual: OperationDetail?
            if let row = next.details[id], let known = before[id], look?.details[id]?.isSame(as: row) == true {
                actual = known
            } else {
                actual = try next.details[id].flatMap { try OperationDetail(row: $0, queue: queue) }
            }
            guard Self.isEqual(actual, expected) else {
                return "details differ\n  model: \(Self.text(expected))\n  Redis: \(Self.text(actual))"
            }
            details[id] = .some(actual)
        }
        let known = snapshot
        snapshot = try await model.snapshot(queue: queue, executingRows: 200)
        let actual =
            look?.snapshot.isSame(as: next.snapshot) == true
            ? known : try QueueSnapshot(reply: next.snapshot, queue: queue)
        guard !snapshot.isEqual(to: actual) else { return nil }
        return "snapshots: " + Self.difference(expected: Self.lines(snapshot), actual: Self.lines(actual))
    }

    private static func difference(expected: [String], actual: [String]) -> String {
        let (model, redis) = (Set(expected), Set(actual))
        return "what is stored differs\n  only in the model: \(model.subtracting(redis).sorted())\n"
            + "  only in Redis:     \(redis.subtracting(model).sorted())"
    }

    /// Compares details without their long envelopes, because unoptimized code compares arrays byte by byte.
    private static func isEqual(_ left: OperationDetail?, _ right: OperationDetail?) -> Bool {
        guard var left, var right else { return left == nil && right == nil }
        guard left.record.envelope.isSame(as: right.record.envelope) else { return false }
        (left.record.envelope, right.record.envelope) = ([], [])
        return left == right
    }

    private static func text(_ detail: OperationDetail?) -> String { detail.map { String(describing: $0) } ?? "none" }

    private static func lines(_ snapshot: QueueSnapshot) -> [String] {
        [
            "time \(snapshot.time)", "paused \(snapshot.paused) \(String(describing: snapshot.pausedUntil))",
            "oldest \(String(describing: snapshot.oldestReadyMilliseconds))",
            "limits \(snapshot.limits) \(String(describing: snapshot.limitsSet))", "schedules \(snapshot.schedules)",
            "events \(snapshot.eventSequence)",
        ]
            + OperationState.allCases.map { "count \($0) \(snapshot.counts[$0] ?? 0)" }
            + snapshot.totals.filter { $0.value != 0 }.map { "total \($0.key) \($0.value)" }.sorted()
            + snapshot.unhandled.map { "unhandled \($0)" } + [
                "unhandled \(snapshot.unhandledNames) \(snapshot.unhandledCount)"
            ]
            + snapshot.workers.map { "\($0)" } + snapshot.executing.map { "\($0)" }
    }
}

extension [UInt8] {
    fileprivate func isSame(as other: [UInt8]) -> Bool {
        count == other.count
            && withUnsafeBytes { mine in
                other.withUnsafeBytes { isEmpty || memcmp(mine.baseAddress!, $0.baseAddress!, count) == 0 }
            }
    }
}

extension RedisValue {
    fileprivate func isSame(as other: RedisValue) -> Bool {
        switch (self, other) {
        case (.bytes(let mine), .bytes(let others)): return mine.isSame(as: others)
        case (.array(let mine), .array(let others)):
            guard mine.count == others.count else { return false }
            for index in 0..<mine.count where !mine[index].isSame(as: others[index]) { return false }
            return true
        default: return self == other
        }
    }
}

extension QueueSnapshot {
    /// Compares snapshots. A missing number counts as zero.
    fileprivate func isEqual(to other: QueueSnapshot) -> Bool {
        schedules == other.schedules && limits == other.limits && limitsSet == other.limitsSet && time == other.time
            && paused == other.paused
            && pausedUntil == other.pausedUntil
            && oldestReadyMilliseconds == other.oldestReadyMilliseconds && eventSequence == other.eventSequence
            && workers == other.workers && unhandled == other.unhandled && unhandledNames == other.unhandledNames
            && unhandledCount == other.unhandledCount
            && OperationState.allCases.allSatisfy { counts[$0] ?? 0 == other.counts[$0] ?? 0 }
            && Set(totals.keys).union(other.totals.keys).allSatisfy { totals[$0] ?? 0 == other.totals[$0] ?? 0 }
            && executing.elementsEqual(other.executing) { $0.isEqual(to: $1) }
    }
}

extension ExecutingRow {
    fileprivate func isEqual(to other: ExecutingRow) -> Bool {
        worker == other.worker && fence == other.fence && header == other.header && name == other.name
            && maxAttempts == other.maxAttempts && startedAt == other.startedAt
            && progress?.fraction == other.progress?.fraction && progress?.message == other.progress?.message
            && cancelRequestedAt == other.cancelRequestedAt && envelope.isSame(as: other.envelope)
    }
}
