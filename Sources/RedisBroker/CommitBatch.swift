import NIOCore
import Operations
import Synchronization

/// Lets small enqueues of many tasks share script calls.
///
/// An enqueue becomes a call of its own at once if few calls of its queue are under way. Otherwise it waits until one
/// of them is answered. All waiting enqueues that fit then share the next call: a commit batch. A script call costs
/// Redis as much as ten to twenty operations in it. Under load, sharing therefore multiplies the throughput of many
/// tasks.
final class CommitBatch: Sendable {
    /// Sends one enqueue script call. Before a repeat, the call asks `isGivenUp` whether all its callers have stopped
    /// waiting.
    typealias Call =
        @Sendable (
            _ operations: [NewOperation], _ isGivenUp: @escaping @Sendable () -> Bool
        ) async throws -> [EnqueueOutcome]

    /// The most operations of an enqueue that shares a call. Larger ones gain nothing.
    private static let largest = 50
    /// The most calls under way if Redis is near: one is in Redis while the next is on its way.
    private static let callsNearby = 2
    private static let callsFarAway = 8
    /// The duration of the quickest call, in nanoseconds, from which Redis counts as far away. The network then takes
    /// most of the time, so more calls may be under way.
    private static let farAway: Int64 = 1_000_000

    /// A caller that waits for a shared call.
    private final class Entry: Sendable {
        let operations: [NewOperation]
        let since = ContinuousClock.now
        let isCancelled: GivenUp
        private let continuation: CheckedContinuation<[EnqueueOutcome], any Error>

        init(
            _ operations: [NewOperation],
            _ isCancelled: GivenUp,
            _ continuation: CheckedContinuation<[EnqueueOutcome], any Error>
        ) {
            self.operations = operations
            self.isCancelled = isCancelled
            self.continuation = continuation
        }

        var isGivenUp: Bool { isCancelled.value }
        func end(_ result: Result<[EnqueueOutcome], any Error>) { continuation.resume(with: result) }
    }

    /// Whether the caller's task was cancelled.
    private final class GivenUp: Sendable {
        private let flag = Atomic<Bool>(false)
        var value: Bool { flag.load(ordering: .relaxed) }
        func set() { flag.store(true, ordering: .relaxed) }
    }

    private struct Line {
        var underWay = 0
        var waiting: [Entry] = []
        /// The duration of the quickest recent call in nanoseconds. Each call reads it, and a `Duration` is slow to
        /// divide.
        var quickest: Int64 = 1_000_000_000

        private var mostUnderWay: Int { quickest < farAway ? callsNearby : callsFarAway }

        mutating func begin() -> Bool {
            guard underWay < mostUnderWay else { return false }
            underWay += 1
            return true
        }

        /// Ends a call and returns the commit batch that takes its place; empty if there is no room or no caller waits.
        mutating func next() -> [Entry] {
            let batch = waiting.isEmpty || underWay > mostUnderWay ? [] : nextBatch()
            if batch.isEmpty { underWay -= 1 }
            return batch
        }

        /// Records the duration of a call. The old minimum grows with each call, because the network may have become
        /// slower.
        mutating func note(_ duration: Int64) { quickest = min(quickest + quickest / 64 + 1, duration) }

        /// Removes and returns the waiting callers that match the condition.
        mutating func remove(where condition: (Entry) -> Bool) -> [Entry] {
            let removed = waiting.filter(condition)
            waiting.removeAll(where: condition)
            return removed
        }

        /// Takes the next commit batch: the callers that have waited longest, as many as fit into a call, but at least
        /// one.
        private mutating func nextBatch() -> [Entry] {
            var load = EnqueueLoad()
            // A caller's operations stay together.
            let count = waiting.firstIndex { !$0.operations.allSatisfy { load.add($0) } } ?? waiting.count
            let batch = waiting.prefix(max(1, count))
            defer { waiting.removeFirst(batch.count) }
            return Array(batch)
        }
    }

    private let lines = Mutex<[String: Line]>([:])
    /// How long a caller waits while Redis is unreachable. A call of its own would wait as long.
    private let patience: Duration

    init(patience: Duration) { self.patience = patience }

    /// The number of callers that wait for a call of this queue to be answered.
    func waiting(_ queue: String) -> Int { lines.withLock { $0[queue]?.waiting.count ?? 0 } }

    /// Whether the operations are few and small enough to share a call.
    static func accepts(_ operations: [NewOperation]) -> Bool {
        var load = EnqueueLoad()
        return operations.count <= largest && operations.allSatisfy { load.add($0) }
    }

    /// Enqueues operations in a call of their own or in a shared one.
    ///
    /// - Returns: the outcome of each operation.
    /// - Throws: the errors of `call`. A refusal concerns these operations alone, never others in the call. Throws
    ///   `CancellationError` if the task is cancelled before its operations are sent.
    func enqueue(
        _ operations: [NewOperation],
        queue: String,
        call: @escaping Call
    ) async throws -> [EnqueueOutcome] {
        guard lines.withLock({ $0[queue, default: Line()].begin() }) else {
            return try await wait(operations, queue, call)
        }
        defer { end(queue, call) }
        do {
            return try await timed(operations, queue, call) { Task.isCancelled }
        } catch {
            giveUpWaiting(queue, after: error)
            throw error
        }
    }

    private func wait(
        _ operations: [NewOperation],
        _ queue: String,
        _ call: @escaping Call
    ) async throws -> [EnqueueOutcome] {
        let givenUp = GivenUp()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let entry = Entry(operations, givenUp, continuation)
                enum Step { case begin, wait, giveUp }
                let step = lines.withLock { lines -> Step in
                    if givenUp.value { return .giveUp }
                    // The last call may have ended since the first check.
                    if lines[queue, default: Line()].begin() { return .begin }
                    lines[queue]?.waiting.append(entry)
                    return .wait
                }
                if step == .begin { start([entry], queue, call) }
                if step == .giveUp { entry.end(.failure(CancellationError())) }
            }
        } onCancel: {
            givenUp.set()
            // A caller that still waits has sent nothing. A call under way continues, and its outcome counts.
            let entries = lines.withLock { $0[queue]?.remove { $0.isCancelled === givenUp } ?? [] }
            for entry in entries { entry.end(.failure(CancellationError())) }
        }
    }

    /// Ends a call. The callers that wait, if any, start the next one.
    private func end(_ queue: String, _ call: @escaping Call) {
        let batch = lines.withLock { $0[queue]?.next() ?? [] }
        if !batch.isEmpty { start(batch, queue, call) }
    }

    private func start(_ batch: [Entry], _ queue: String, _ call: @escaping Call) {
        // Detached: the batch must not run with the priority and task-local values of one caller.
        Task.detached { [self] in
            await run(batch, queue, call)
            end(queue, call)
        }
    }

    private func run(_ batch: [Entry], _ queue: String, _ call: Call) async {
        do {
            let outcomes = try await timed(batch.flatMap(\.operations), queue, call) { batch.allSatisfy(\.isGivenUp) }
            var rest = outcomes[...]
            for entry in batch {
                entry.end(.success(Array(rest.prefix(entry.operations.count))))
                rest = rest.dropFirst(entry.operations.count)
            }
        } catch let error as OperationsError where batch.count > 1 && error.code == .refused {
            // A refused call has changed nothing. Sending its halves finds the caller that Redis refuses.
            let middle = batch.count / 2
            await run(Array(batch[..<middle]), queue, call)
            await run(Array(batch[middle...]), queue, call)
        } catch {
            for entry in batch { entry.end(.failure(error)) }
            giveUpWaiting(queue, after: error)
        }
    }

    /// Fails all callers that have waited for `patience` because Redis is unreachable, not only those of the failed
    /// call.
    private func giveUpWaiting(_ queue: String, after error: any Error) {
        guard let error = error as? OperationsError, error.code == .unavailable else { return }
        let latest = ContinuousClock.now - patience
        let entries = lines.withLock { $0[queue]?.remove { $0.since <= latest } ?? [] }
        for entry in entries { entry.end(.failure(error)) }
    }

    private func timed(
        _ operations: [NewOperation],
        _ queue: String,
        _ call: Call,
        _ isGivenUp: @escaping @Sendable () -> Bool
    ) async throws -> [EnqueueOutcome] {
        let start = NIODeadline.now()
        let outcomes = try await call(operations, isGivenUp)
        let duration = (NIODeadline.now() - start).nanoseconds
        lines.withLock { $0[queue]?.note(duration) }
        return outcomes
    }
}
