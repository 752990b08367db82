import NIOCore
import Operations
import Synchronization

/// Group commit: small enqueues of many tasks share calls.
///
/// An enqueue that finds few calls of its queue under way is a call of its own, at once: nobody waits for company. What comes while
/// enough are under way goes together as soon as one of them is answered. A script call costs Redis as much as ten to twenty operations
/// in it, so under load many tasks get several times as much done.
final class GroupCommit: Sendable {
    /// One enqueue script call; asks `isGivenUp` whether anybody still waits for it before it repeats itself.
    typealias Call =
        @Sendable (
            _ operations: [NewOperation], _ isGivenUp: @escaping @Sendable () -> Bool
        ) async throws -> [EnqueueOutcome]

    /// Enqueues of more operations gain nothing.
    private static let largest = 50
    /// One call is in Redis while the next is on its way.
    private static let callsNearby = 2
    private static let callsFarAway = 8
    /// From this duration of the quickest call on, in nanoseconds, it is the network that takes the time, and what waits for an answer
    /// waits long.
    private static let farAway: Int64 = 1_000_000

    /// One caller that waits.
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
        /// How long the quickest call took of late, in nanoseconds: each call asks, and durations are slow to divide.
        var quickest: Int64 = 1_000_000_000

        private var mostUnderWay: Int { quickest < farAway ? callsNearby : callsFarAway }

        mutating func begin() -> Bool {
            guard underWay < mostUnderWay else { return false }
            underWay += 1
            return true
        }

        /// A call has ended: what goes in its place, if anything does.
        mutating func next() -> [Entry] {
            let group = waiting.isEmpty || underWay > mostUnderWay ? [] : nextGroup()
            if group.isEmpty { underWay -= 1 }
            return group
        }

        /// The way may have become longer: what was quick once counts less and less.
        mutating func note(_ duration: Int64) { quickest = min(quickest + quickest / 64 + 1, duration) }

        /// Takes out those that have waited that long, or all of one caller.
        mutating func remove(where condition: (Entry) -> Bool) -> [Entry] {
            let removed = waiting.filter(condition)
            waiting.removeAll(where: condition)
            return removed
        }

        /// What goes with the next call: the first that wait, as many as one call takes; at least one, if any waits.
        private mutating func nextGroup() -> [Entry] {
            var load = EnqueueLoad()
            // A caller's operations stay together.
            let count = waiting.firstIndex { !$0.operations.allSatisfy { load.add($0) } } ?? waiting.count
            let group = waiting.prefix(max(1, count))
            defer { waiting.removeFirst(group.count) }
            return Array(group)
        }
    }

    private let lines = Mutex<[String: Line]>([:])
    /// How long a caller waits for a server that is away, as with a call of its own.
    private let patience: Duration

    init(patience: Duration) { self.patience = patience }

    /// How many callers wait for a call of this queue to be answered.
    func waiting(_ queue: String) -> Int { lines.withLock { $0[queue]?.waiting.count ?? 0 } }

    /// Whether so few and so small ones are worth company.
    static func accepts(_ operations: [NewOperation]) -> Bool {
        var load = EnqueueLoad()
        return operations.count <= largest && operations.allSatisfy { load.add($0) }
    }

    /// Enqueues alone or in company.
    ///
    /// - Returns: the outcome of each operation.
    /// - Throws: what the call throws. A refusal is about these operations alone, not about others in the same call. `CancellationError`
    ///   if the task is cancelled while nothing of it was sent.
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
                    // The last call may have ended meanwhile.
                    if lines[queue, default: Line()].begin() { return .begin }
                    lines[queue]?.waiting.append(entry)
                    return .wait
                }
                if step == .begin { start([entry], queue, call) }
                if step == .giveUp { entry.end(.failure(CancellationError())) }
            }
        } onCancel: {
            givenUp.set()
            // Nothing of it was sent. What is under way stays so: its outcome counts.
            let entries = lines.withLock { $0[queue]?.remove { $0.isCancelled === givenUp } ?? [] }
            for entry in entries { entry.end(.failure(CancellationError())) }
        }
    }

    /// A call has ended: what waits begins, or nothing does.
    private func end(_ queue: String, _ call: @escaping Call) {
        let group = lines.withLock { $0[queue]?.next() ?? [] }
        if !group.isEmpty { start(group, queue, call) }
    }

    private func start(_ group: [Entry], _ queue: String, _ call: @escaping Call) {
        // Detached: no caller's priority or task-local values hold for the others.
        Task.detached { [self] in
            await run(group, queue, call)
            end(queue, call)
        }
    }

    private func run(_ group: [Entry], _ queue: String, _ call: Call) async {
        do {
            let outcomes = try await timed(group.flatMap(\.operations), queue, call) { group.allSatisfy(\.isGivenUp) }
            var rest = outcomes[...]
            for entry in group {
                entry.end(.success(Array(rest.prefix(entry.operations.count))))
                rest = rest.dropFirst(entry.operations.count)
            }
        } catch let error as OperationsError where group.count > 1 && error.code == .refused {
            // Nothing of the call was done. Which one it means, its halves tell.
            let middle = group.count / 2
            await run(Array(group[..<middle]), queue, call)
            await run(Array(group[middle...]), queue, call)
        } catch {
            for entry in group { entry.end(.failure(error)) }
            giveUpWaiting(queue, after: error)
        }
    }

    /// The server is away: whoever has waited as long as for a call of its own is told, not only those in this one.
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
