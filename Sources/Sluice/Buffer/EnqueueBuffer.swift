import Logging
import Synchronization

/// Sends operations in order, each once, and keeps them while Redis is away.
///
/// One call is under way at a time. A call whose outcome is unknown is repeated with the same operations: all have a record, so
/// Redis says of those that it has that they are there already.
final class EnqueueBuffer: Sendable {
    private struct State {
        var line: EnqueueLine
        var isSending = false
        /// So many of the first ones are in a call that was not answered yet.
        var underWay = 0
        var isAway = false
        var isClosed = false
    }

    private static let shortestPause: Duration = .milliseconds(50)
    private static let longestPause: Duration = .seconds(1)
    let limits: EnqueueBuffering
    private let broker: any Broker
    private let logger: Logger
    private let state: Mutex<State>

    init(_ limits: EnqueueBuffering, broker: any Broker, logger: Logger) {
        self.limits = limits
        self.broker = broker
        self.logger = logger
        state = Mutex(State(line: EnqueueLine(limits)))
    }

    /// How many operations wait.
    var count: Int { state.withLock { $0.line.count } }
    /// Redis did not answer when it was last tried.
    var isAway: Bool { state.withLock { $0.isAway } }

    // MARK: Producers

    /// Puts operations into the line and waits for Redis as long as the patience allows.
    ///
    /// - Returns: where each of them is told what became of it.
    /// - Throws: `.bufferFull` if there is no room in time, `.unavailable` after `close`, or the refusal of Redis.
    func enqueue(_ operations: [NewOperation], queue: String, progress: (Int) -> Void) async throws -> EnqueueReceipt {
        let receipt = EnqueueReceipt(count: operations.count)
        // Of each operation: many go through a small buffer as long as Redis takes them.
        var deadline = ContinuousClock.now + limits.patience
        for (index, operation) in operations.enumerated() {
            var operation = operation
            operation.tracked = true
            let entry = EnqueueLine.Entry(
                operation: operation,
                queue: queue,
                receipt: receipt,
                index: index,
                since: .now
            )
            while try !append(entry) { try await waitForRoom(until: deadline, admitted: index, of: operations.count) }
            deadline = .now + limits.patience
        }
        progress(operations.count)
        if await !receipt.wait(atMost: max(.zero, deadline - .now)) { noteBuffered(queue) }
        if let error = receipt.close() { throw error }
        return receipt
    }

    /// - Returns: false if there is no room.
    private func append(_ entry: EnqueueLine.Entry) throws(OperationsError) -> Bool {
        let (isIn, begins) = try state.withLock { state throws(OperationsError) -> (Bool, Bool) in
            guard !state.isClosed else {
                throw OperationsError(.unavailable, "the client was closed", id: entry.operation.id)
            }
            guard state.line.hasRoom(for: entry.operation) else { return (false, false) }
            state.line.append(entry)
            defer { state.isSending = true }
            return (true, !state.isSending)
        }
        if begins { Task { await send() } }
        return isIn
    }

    private func waitForRoom(until deadline: ContinuousClock.Instant, admitted: Int, of count: Int) async throws {
        guard ContinuousClock.now < deadline, !Task.isCancelled else {
            let sent =
                count == 1 ? "it was not enqueued" : "the first \(admitted) of \(count) were taken, the rest was not"
            throw OperationsError(
                .bufferFull,
                "Redis takes no operations and the buffer is full (\(limits.operations) operations or \(limits.bytes) bytes): \(sent)"
            )
        }
        try? await Task.sleep(for: .milliseconds(5))
    }

    // MARK: Sending

    private func send() async {
        var pause = Self.shortestPause
        while true {
            let head = state.withLock { state -> [EnqueueLine.Entry] in
                let head = state.line.head()
                if head.isEmpty { state.isSending = false }
                state.underWay = head.count
                return head
            }
            guard let queue = head.first?.queue else { return }
            do {
                let outcomes = try await broker.enqueue(head.map { $0.operation(at: .now) }, queue: queue)
                confirm(head, outcomes)
                pause = Self.shortestPause
            } catch {
                let error = error as? OperationsError ?? OperationsError(.unavailable, String(describing: error))
                if !keep(head, after: error) { continue }
                try? await Task.sleep(for: pause)
                pause = min(pause * 2, Self.longestPause)
            }
            if state.withLock({ $0.isClosed && $0.line.isEmpty }) { return }
        }
    }

    private func confirm(_ head: [EnqueueLine.Entry], _ outcomes: [EnqueueOutcome]) {
        let wasAway = state.withLock { state in
            defer { state.isAway = false }
            state.underWay = 0
            // After `close` has given them up they are not in the line any more.
            if !state.line.isEmpty { state.line.removeHead(head.count) }
            return state.isAway
        }
        for (entry, outcome) in zip(head, outcomes) {
            // Whose first try was not answered is there because of that.
            entry.receipt.settle(entry.index, .success(entry.isUncertain ? .created : outcome))
        }
        if wasAway { logger.notice("Redis takes operations again", metadata: ["buffered": "\(count)"]) }
    }

    /// - Returns: true if these operations stay first in the line, for another try after a pause.
    private func keep(_ head: [EnqueueLine.Entry], after error: OperationsError) -> Bool {
        let (refused, isNews) = state.withLock { state -> ([EnqueueLine.Entry], Bool) in
            state.underWay = 0
            switch error.code {
            case .unavailable, .outcomeUnknown:
                if error.code == .outcomeUnknown { state.line.noteUncertain(head.count) }
                defer { state.isAway = true }
                return ([], !state.isAway)
            case .full, .denied:
                // Whoever still waits is told; what was promised to be kept is kept.
                return (state.line.remove(amongFirst: head.count) { $0.receipt.isAwaited && !$0.isUncertain }, false)
            default:
                return (state.line.remove(amongFirst: head.count) { _ in true }, false)
            }
        }
        for entry in refused { entry.receipt.settle(entry.index, .failure(error)) }
        if isNews { logger.warning("Redis takes no operations", metadata: ["error": "\(error.message)"]) }
        return refused.isEmpty
    }

    private func noteBuffered(_ queue: String) {
        logger.info(
            "operations are buffered until Redis is back",
            metadata: ["queue": "\(queue)", "buffered": "\(count)"]
        )
    }

    // MARK: End

    /// Waits until nothing waits any more.
    ///
    /// - Returns: how many operations still do.
    func flush(within limit: Duration) async -> Int {
        let last = state.withLock { $0.line.entries.last }
        guard let last else { return 0 }
        let deadline = ContinuousClock.now + limit
        // In order: with the last one's call all before it are settled, but for those that came meanwhile.
        while !(await last.receipt.wait(atMost: max(.zero, deadline - .now))), ContinuousClock.now < deadline {
            if Task.isCancelled { break }
        }
        return last.receipt.outcome(last.index) == nil ? count : 0
    }

    /// Admits nothing more, waits for what is in the line, and gives up the rest.
    func close() async {
        state.withLock { $0.isClosed = true }
        _ = await flush(within: limits.closing)
        let lost = state.withLock { state in
            state.line.noteUncertain(state.underWay)
            return state.line.remove(amongFirst: state.line.count) { _ in true }
        }
        guard !lost.isEmpty else { return }
        logger.error("buffered operations are lost: the client was closed", metadata: ["operations": "\(lost.count)"])
        for entry in lost {
            let code: OperationsError.Code = entry.isUncertain ? .outcomeUnknown : .unavailable
            let error = OperationsError(code, "the client was closed before Redis answered", id: entry.operation.id)
            entry.receipt.settle(entry.index, .failure(error))
        }
    }
}
