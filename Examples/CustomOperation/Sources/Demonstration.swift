import ExampleBasics
import Foundation
import Operations

/// The classic lesson about custom operations, in two acts.
struct Demonstration {
    /// The durations of the acts. Short ones make a short test.
    struct Times: Sendable {
        /// The duration of a correct operation.
        var work: Duration = .milliseconds(1500)
        /// The duration of the third operation if it were not cancelled.
        var long: Duration = .seconds(60)
        /// The time between the start of the third operation and its cancel.
        var cancel: Duration = .milliseconds(500)
        /// The time limit of an operation, and the time that it then has to end.
        var limit: Duration = .seconds(1)
        var grace: Duration = .milliseconds(300)
    }

    let times: Times
    let watch = Stopwatch()
    private(set) var report = Claims()

    init(times: Times = Times()) { self.times = times }

    /// Runs an operation that never finishes, so that its queue would be blocked forever. The time limit reports it and
    /// frees the slot.
    mutating func forgetful() async throws {
        print("1. An operation that forgets to finish, and one behind it, in a queue of one slot")
        let queue = LocalOperationQueue(name: "forgetful", maxConcurrentOperationCount: 1)
        let story = tell(queue, ends: 2)
        let forgetful = try queue.add(
            foundation: ForgetfulFetch("forgetful", duration: .milliseconds(10)),
            runTimeout: times.limit,
            grace: times.grace
        )
        let next = try queue.add(foundation: Fetch("next", duration: .milliseconds(10)))
        let end = try await forgetful.waitUntilFinished()
        let wasStuck = forgetful.isStuck
        try await next.waitUntilFinished()
        let told = await story.value
        report.claim("the forgetful one met its limit", end == .dead && forgetful.isOverdue, times.limit.seconds)
        report.claim("it is stuck: its body still waits", wasStuck && told.contains("forgetful is stuck"), "isStuck")
        report.claim("the one behind it got the slot", next.state == .finished, "\(next.state)")
    }

    /// Runs correct operations. The third one is cancelled long before its end: it ends at once, and the next one gets
    /// its slot.
    mutating func right() async throws {
        print("\n2. Five that are written rightly, two at a time; the third is long, and cancelled while it works")
        let queue = LocalOperationQueue(name: "right", maxConcurrentOperationCount: 2)
        let story = tell(queue, ends: 5)
        let fetches = (1...5).map { Fetch("fetch \($0)", duration: $0 == 3 ? times.long : times.work) }
        let operations = try fetches.map { try queue.add(foundation: $0, runTimeout: .seconds(600)) }
        for await change in operations[2].changes where change.kind == .state(.executing) { break }
        try await Task.sleep(for: times.cancel)
        let wasExecuting = operations[2].isExecuting
        let cancelled = ContinuousClock.now
        operations[2].cancel(reason: "the third is not wanted")
        try await operations[2].waitUntilFinished()
        let late = ContinuousClock.now - cancelled
        try await queue.waitUntilAllOperationsAreFinished()
        _ = await story.value
        let states = operations.map(\.state)
        report.claim("the cancel found the third executing", wasExecuting, "after \(times.cancel.seconds)")
        report.claim("it ended at once", late < times.long / 3 && fetches[2].isFinished, "after \(late.seconds)")
        let expected: [OperationState] = [.finished, .finished, .cancelled, .finished, .finished]
        report.claim("the other four finished", states == expected, "\(states.map(\.rawValue).joined(separator: ", "))")
        report.claim("none is stuck", !operations.contains { $0.isStuck }, "0 of \(operations.count)")
    }

    /// Prints the changes of a queue as they happen, until so many operations have ended.
    ///
    /// - Returns: the lines.
    private func tell(_ queue: LocalOperationQueue, ends: Int) -> Task<[String], Never> {
        let changes = queue.changes
        return Task { [watch] in
            var (lines, left): ([String], Int) = ([], ends)
            for await change in changes {
                let line = "\(change.operation.name ?? "?") \(change.kind.words)"
                lines.append(line)
                print("   \(watch.text.padded(to: 7)) \(line)")
                if case .state(let state) = change.kind, state.isTerminal { left -= 1 }
                if left == 0 { break }
            }
            return lines
        }
    }
}

extension ValueOperation {
    /// Whether the operation exceeded its time limit.
    var isOverdue: Bool {
        guard case .failure(let error) = result else { return false }
        return (error as? OperationsError)?.code == .timedOut
    }
}

extension LocalOperationChange.Kind {
    fileprivate var words: String {
        switch self {
        case .state(let state): "is \(state.rawValue)"
        case .cancelRequested(let reason): "is to be cancelled: \(reason)"
        case .stuck: "is stuck"
        case .progress(let progress): progress.message
        case .log(let line): line
        }
    }
}
