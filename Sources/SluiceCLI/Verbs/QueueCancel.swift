import Operations
import Selectors
import Sluice
import SluiceOperator
import TerminalText

/// Cancels all operations that are in the queues now.
struct QueueCancel: Sendable {
    let client: SluiceClient
    let invocation: Invocation
    let reason: String
    /// Whether running operations end at once.
    let isForced: Bool

    private struct Cancelled: Sendable {
        var queue: String
        var waiting: Int
        var executing: Int
        /// The number of operations that still run.
        var left: Int
    }

    /// Cancels the operations.
    ///
    /// - Parameter queues: the queues; nil = all queues of the namespace.
    func run(_ queues: [String]?, _ consent: Consent, waitLimit: Duration?) async throws -> ExitStatus {
        let known = try await client.queues()
        if let unknown = queues?.first(where: { !known.contains($0) }) {
            throw LookupFailure.unknownQueue(unknown, known: known)
        }
        let queues = queues ?? known
        if consent.dryRun { return try await dryRun(queues) }
        try await confirm(queues)
        let started = ContinuousClock.now
        let deadline = waitLimit.map { started + $0 }
        let cancelled = try await withThrowingTaskGroup { group in
            for queue in queues { group.addTask { try await cancel(queue, deadline: deadline) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        return report(
            cancelled.sorted { $0.queue < $1.queue },
            time: ContinuousClock.now - started,
            waited: deadline != nil
        )
    }

    private func confirm(_ queues: [String]) async throws {
        guard !invocation.options.assumesYes else { return }
        var waiting = 0
        var executing = 0
        for queue in queues {
            let counts = try await client.broker.snapshot(queue: queue, executingRows: 0).counts
            executing += counts[.executing] ?? 0
            waiting += counts.filter(\.key.isWaiting).values.reduce(0, +)
        }
        let place = queues.count == 1 ? "queue \(queues[0])" : "\(queues.count) queues"
        try invocation.confirm(
            "cancel \(waiting) waiting and \(executing) executing operations of \(place)?",
            count: waiting + executing
        )
    }

    /// Shows the number of operations that would be cancelled, and a sample.
    private func dryRun(_ queues: [String]) async throws -> ExitStatus {
        var query = try OperationQuery(typed: [])
        query.terms = [
            .states(OperationState.allCases.filter { !$0.isTerminal }),
            OperationQuery.Term(field: .queue, condition: .texts(queues.map(TextPattern.init(exactly:)))),
        ]
        let walk = ListWalk(
            client.broker,
            query,
            view: invocation.view,
            limit: ChangePreview.sampleSize,
            scanLimit: ChangePreview.sampleSize
        )
        var sample: [OperationDetail] = []
        _ = try await walk.run(from: nil) { sample += $0 }
        let matches = try await client.broker.extent(of: query, in: queues).total
        invocation.print(ChangePreview(participle: "cancelled", matches: matches, sample: sample))
        return .done
    }

    private func cancel(_ queue: String, deadline: ContinuousClock.Instant?) async throws -> Cancelled {
        let result = try await client.cancel(queue: queue, reason: reason)
        let executing = result.executing
        var cancelled = Cancelled(queue: queue, waiting: result.waiting, executing: executing, left: executing)
        if isForced, executing > 0 { try await force(queue) }
        if let deadline, executing > 0 { cancelled.left = try await wait(queue, deadline: deadline) }
        return cancelled
    }

    /// Waits for the operations that were claimed before the cancel. Later ones have a higher fence.
    ///
    /// - Returns: the number of operations that still run at the deadline.
    private func wait(_ queue: String, deadline: ContinuousClock.Instant) async throws -> Int {
        var through: Int64?
        var pause: Duration = .milliseconds(20)
        while true {
            let fences = try await fences(queue)
            let limit = through ?? fences.max() ?? 0
            through = limit
            let left = fences.count { $0 <= limit }
            if left == 0 || ContinuousClock.now >= deadline { return left }
            invocation.console.showStatus("cancelling: \(left) still running in \(queue)")
            try await Task.sleep(for: pause)
            pause = min(pause * 2, .milliseconds(250))
        }
    }
}

extension QueueCancel {
    /// Ends the operations that ran when the queue was cancelled, a page at a time. Operations that were claimed later
    /// have a higher fence and go on.
    private func force(_ queue: String) async throws {
        let request = CancelRequest(reason: reason, by: SluiceClient.identity, isForced: true)
        let through = try await fences(queue).max() ?? 0
        while true {
            let running = try await client.broker.page(
                state: .executing,
                queue: queue,
                cursor: nil,
                limit: SluiceDefaults.batch
            ).operations.filter { $0.record.fence <= through }
            guard !running.isEmpty else { return }
            let outcomes = try await client.broker.cancel(
                running.map(\.record.header.id),
                request: request,
                queue: queue
            )
            guard outcomes.contains(where: { if case .forced = $0 { true } else { false } }) else { return }
        }
    }

    /// The fences of all running operations.
    private func fences(_ queue: String) async throws -> [Int64] {
        var fences: [Int64] = []
        var cursor: String?
        repeat {
            let page = try await client.broker.page(
                state: .executing,
                queue: queue,
                cursor: cursor,
                limit: SluiceDefaults.batch
            )
            fences += page.operations.map(\.record.fence)
            cursor = page.cursor
        } while cursor != nil
        return fences
    }
}

// MARK: - Output

extension QueueCancel {
    private func report(_ cancelled: [Cancelled], time: Duration, waited: Bool) -> ExitStatus {
        let console = invocation.console
        console.clearStatus()
        let left = waited ? cancelled.reduce(0) { $0 + $1.left } : 0
        if invocation.format.isText {
            console.print(lines(cancelled, time: time, waited: waited))
        } else {
            let report = RowReport(cancelled, Self.columns(waited: waited))
            invocation.print(report, names: cancelled.map(\.queue)) { queues in
                [
                    "v": 1,
                    "waiting": .number(cancelled.reduce(0) { $0 + $1.waiting }),
                    "executing": .number(cancelled.reduce(0) { $0 + $1.executing }),
                    "stillRunning": waited ? .number(left) : .null,
                    "queues": .array(queues),
                ]
            }
        }
        guard left > 0 else { return .done }
        let error = CLIError(
            .timedOut,
            "\(left) operations are still running after \(DurationText.precise(time))",
            fix: "\(Program.name) list state:executing"
        )
        console.report(error, asJSON: invocation.format.isJSON)
        return .timedOut
    }

    private func lines(_ cancelled: [Cancelled], time: Duration, waited: Bool) -> [String] {
        cancelled.map { queue in
            var line = "\(queue.queue): \(queue.waiting) waiting cancelled, \(queue.executing) executing "
            line += isForced ? "ended" : waited ? "stopped" : "asked to stop"
            return waited && queue.executing > 0 ? line + " in \(DurationText.precise(time))" : line
        }
    }

    private static func columns(waited: Bool) -> [ReportColumn<Cancelled>] {
        [
            .text("QUEUE", field: "name") { $0.queue },
            .count("WAITING", field: "waiting") { Int64($0.waiting) },
            .count("EXECUTING", field: "executing") { Int64($0.executing) },
            .count("LEFT", field: "stillRunning") { waited ? Int64($0.left) : nil },
        ]
    }
}
