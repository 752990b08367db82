import Logging
import Synchronization

/// Sends operations to Redis in order, and keeps them in memory while Redis is away.
///
/// One call is in flight at a time. If its outcome is unknown, the buffer repeats it with the same operations. Each
/// operation has a record, so Redis recognizes the operations that it already stored.
final class EnqueueBuffer: Sendable {
    /// Enqueues operations through the broker; see `Broker.enqueue`.
    typealias Sink = @Sendable (_ operations: [NewOperation], _ queue: String) async throws -> [EnqueueOutcome]

    private struct State {
        var line: EnqueueLine
        var isSending = false
        /// The number of operations at the head of the line that are in the call in flight.
        var underWay = 0
        /// The number of operations at the head that are sent one per call, because Redis refused the call with all of
        /// them.
        var single = 0
        var isAway = false
        var isClosed = false
    }

    private static let shortestPause: Duration = .milliseconds(50)
    private static let longestPause: Duration = .seconds(1)
    let limits: EnqueueBuffering
    private let sink: Sink
    private let logger: Logger
    private let state: Mutex<State>

    init(_ limits: EnqueueBuffering, logger: Logger, sink: @escaping Sink) {
        var limits = limits
        limits.patience = limits.patience.limited
        limits.closeTimeout = limits.closeTimeout.limited
        self.limits = limits
        self.sink = sink
        self.logger = logger
        state = Mutex(State(line: EnqueueLine(limits)))
    }

    /// The number of buffered operations.
    var count: Int { state.withLock { $0.line.count } }
    /// True if the last call failed and its operations stayed in the buffer.
    var isAway: Bool { state.withLock { $0.isAway } }

    // MARK: Producers

    /// Adds operations to the buffer, and waits for Redis to store them, at most the patience.
    ///
    /// - Returns: the receipt, which has the outcome of each operation once it is known.
    /// - Throws: `.bufferFull` if no room becomes free in time; `.unavailable` after `close`; the refusal of Redis;
    ///   `CancellationError` if the task is cancelled while it waits for room.
    func enqueue(_ operations: [NewOperation], queue: String, progress: (Int) -> Void) async throws -> EnqueueReceipt {
        let receipt = EnqueueReceipt(count: operations.count)
        for (index, operation) in operations.enumerated() {
            do {
                try await admit(operation, queue: queue, index, of: operations.count, receipt)
            } catch {
                throw end(receipt, admitted: index, of: operations.count, after: error)
            }
        }
        progress(operations.count)
        if await !receipt.wait(atMost: limits.patience) { noteBuffered(queue) }
        if let error = receipt.close() { throw error }
        return receipt
    }

    private func admit(
        _ operation: NewOperation,
        queue: String,
        _ index: Int,
        of count: Int,
        _ receipt: EnqueueReceipt
    ) async throws {
        var operation = operation
        operation.tracked = true
        let entry = EnqueueLine.Entry(operation: operation, queue: queue, receipt: receipt, index: index, since: .now)
        // Each operation has its own deadline: many pass through a small buffer as long as Redis takes them.
        let deadline = ContinuousClock.now + limits.patience
        while try !append(entry) { try await waitForRoom(until: deadline, admitted: index, of: count) }
    }

    /// Ends an enqueue of which only the first operations were admitted; these stay buffered.
    ///
    /// - Returns: the error to throw: a refusal of an admitted operation if Redis has refused one, otherwise `error`.
    private func end(_ receipt: EnqueueReceipt, admitted: Int, of count: Int, after error: any Error) -> any Error {
        let refusal = receipt.close()
        let outcome =
            error as? OperationsError
            ?? OperationsError(.unavailable, "the enqueue was cancelled before this operation entered the buffer")
        for index in admitted..<count { receipt.settle(index, .failure(outcome)) }
        return refusal ?? error
    }

    /// - Returns: false if the buffer has no room.
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
        try Task.checkCancellation()
        guard ContinuousClock.now < deadline else {
            let sent =
                count == 1
                ? "the operation was not enqueued"
                : "the first \(admitted) of \(count) operations were accepted, the others were not enqueued"
            throw OperationsError(
                .bufferFull,
                "the buffer is full (at most \(limits.maxOperations) operations and \(limits.maxBytes) bytes) and "
                    + "Redis accepts no operations: \(sent)"
            )
        }
        try? await Task.sleep(for: .milliseconds(5))
    }

    // MARK: Sending

    private func send() async {
        var pause = Self.shortestPause
        while true {
            let head = state.withLock { state -> [EnqueueLine.Entry] in
                let head = state.single > 0 ? state.line.head(atMost: 1) : state.line.head()
                if head.isEmpty { state.isSending = false }
                state.underWay = head.count
                return head
            }
            guard let queue = head.first?.queue else { return }
            do {
                let outcomes = try await sink(head.map { $0.operation(at: .now) }, queue)
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
            // `close` may have removed these operations from the line already.
            if !state.line.isEmpty { state.line.removeHead(head.count) }
            state.single = max(0, state.single - head.count)
            return state.isAway
        }
        for (entry, outcome) in zip(head, outcomes) {
            // An earlier attempt without an answer may have created the operation, so `exists` counts as created.
            entry.receipt.settle(entry.index, .success(entry.isUncertain ? .created : outcome))
        }
        if wasAway { logger.notice("Redis takes operations again", metadata: ["buffered": "\(count)"]) }
    }

    /// - Returns: true if the operations stay at the head of the line and are sent again after a pause.
    private func keep(_ head: [EnqueueLine.Entry], after error: OperationsError) -> Bool {
        switch error.code {
        case .unavailable, .outcomeUnknown:
            noteAway(head, after: error)
            return true
        case .full, .denied, .untrusted, .incompatible:
            // An enqueue that still waits throws the error. Operations stay if their enqueue has returned, or if an
            // earlier attempt got no answer.
            let refused = remove(head) { !$0.isUncertain && $0.receipt.refuse($0.index, error) }
            if refused.isEmpty { noteAway(head, after: error) }
            return refused.isEmpty
        default:
            refuse(head, error)
            return false
        }
    }

    private func noteAway(_ head: [EnqueueLine.Entry], after error: OperationsError) {
        let isNews = state.withLock { state in
            state.underWay = 0
            if error.code == .outcomeUnknown { state.line.noteUncertain(head.count) }
            defer { state.isAway = true }
            return !state.isAway
        }
        if isNews { logger.warning("Redis takes no operations", metadata: ["error": "\(error.message)"]) }
    }

    /// Handles the refusal of a whole call. Sends the operations of a larger call one by one, to find the refused one.
    private func refuse(_ head: [EnqueueLine.Entry], _ error: OperationsError) {
        guard head.count == 1 else {
            state.withLock { state in
                state.underWay = 0
                state.single = head.count
            }
            return
        }
        for entry in remove(head, where: { _ in true }) where !entry.receipt.refuse(entry.index, error) {
            entry.receipt.settle(entry.index, .failure(error))
            logger.error(
                "a buffered operation is lost: Redis refused it",
                metadata: [
                    "operation": "\(entry.operation.id)", "queue": "\(entry.queue)", "error": "\(error.message)",
                ]
            )
        }
    }

    private func remove(
        _ head: [EnqueueLine.Entry],
        where condition: (EnqueueLine.Entry) -> Bool
    ) -> [EnqueueLine.Entry] {
        state.withLock { state in
            state.underWay = 0
            let removed = state.line.remove(amongFirst: head.count, where: condition)
            state.single = max(0, state.single - removed.count)
            return removed
        }
    }

    private func noteBuffered(_ queue: String) {
        logger.info(
            "operations are buffered until Redis is back",
            metadata: ["queue": "\(queue)", "buffered": "\(count)"]
        )
    }

    // MARK: End

    /// Waits until all operations that are in the buffer now are settled.
    ///
    /// - Returns: the number of operations that are still buffered; 0 if all of them are settled.
    func flush(within limit: Duration) async -> Int {
        let last = state.withLock { $0.line.entries.last }
        guard let last else { return 0 }
        let deadline = ContinuousClock.now + limit
        // Operations leave in order: the last one is settled after all others. Operations added meanwhile do not count.
        while !(await last.receipt.wait(atMost: max(.zero, deadline - .now))), ContinuousClock.now < deadline {
            if Task.isCancelled { break }
        }
        return last.receipt.outcome(last.index) == nil ? count : 0
    }

    /// Admits no more operations, waits for the buffered ones at most `closeTimeout`, and gives up the rest.
    func close() async {
        state.withLock { $0.isClosed = true }
        _ = await flush(within: limits.closeTimeout)
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
