import Foundation

/// Reads, which change nothing. Each call throws `OperationsError` with `.invalidName` for an invalid name, and
/// `.unavailable` if Redis cannot be reached.
extension SluiceClient {
    /// The names of the namespace's queues, sorted: all queues that got an operation or that a worker has served.
    public func queues() async throws -> [String] { try await broker.queues() }

    /// Reads counts, totals and the pause of a queue in one step.
    ///
    /// - Parameter queue: the name of the queue. A queue that was never used has only zeros.
    public func statistics(queue: String = SluiceDefaults.queue) async throws -> QueueStatistics {
        try NameRule.check(queue, role: "queue")
        return QueueStatistics(try await broker.snapshot(queue: queue, executingRows: 0))
    }

    /// The operations of a queue in one state, read page by page during the loop.
    ///
    /// ```swift
    /// for try await dead in sluice.operations(.dead, queue: "mail") where dead.name == "SendEmail" {
    ///     try await sluice.retry([dead.reference.id], queue: "mail")
    /// }
    /// ```
    ///
    /// Ready operations come in the order in which workers claim them; other operations come newest first. An operation
    /// that changes its state during the loop may come twice or not at all.
    ///
    /// - Parameters:
    ///   - state: the state.
    ///   - queue: the name of the queue.
    /// - Returns: a sequence that reads a page of 200 operations when the loop needs it.
    public func operations(_ state: OperationState, queue: String = SluiceDefaults.queue) -> StoredOperations {
        StoredOperations(client: self, state: state, queue: queue)
    }
}

/// The operations of a queue in one state. See `SluiceClient.operations(_:queue:)`.
public struct StoredOperations: AsyncSequence, Sendable {
    fileprivate static let page = 200
    fileprivate let client: SluiceClient
    fileprivate let state: OperationState
    fileprivate let queue: String

    init(client: SluiceClient, state: OperationState, queue: String) {
        self.client = client
        self.state = state
        self.queue = queue
    }

    public func makeAsyncIterator() -> Iterator { Iterator(of: self) }

    /// Reads the next page after all operations of the previous page were returned.
    public struct Iterator: AsyncIteratorProtocol {
        private let operations: StoredOperations
        private var page: ArraySlice<OperationDetail> = []
        private var cursor: String?
        private var isAtEnd = false

        fileprivate init(of operations: StoredOperations) { self.operations = operations }

        /// The next operation; nil after the last one.
        ///
        /// - Throws: `OperationsError` with `.invalidName` for an invalid queue name, `.unavailable` if Redis cannot be
        ///   reached.
        public mutating func next() async throws -> StoredOperation? {
            while page.isEmpty, !isAtEnd { try await readPage() }
            return page.popFirst().map { StoredOperation($0, client: operations.client) }
        }

        private mutating func readPage() async throws {
            try NameRule.check(operations.queue, role: "queue")
            let next = try await operations.client.broker.page(
                state: operations.state,
                queue: operations.queue,
                cursor: cursor,
                limit: StoredOperations.page
            )
            page = next.operations[...]
            cursor = next.cursor
            isAtEnd = cursor == nil
        }
    }
}

extension OperationReference {
    /// Reads lines of the operation's log.
    ///
    /// - Parameters:
    ///   - number: the number of the first line to read; dropped lines are skipped.
    ///   - limit: maximum number of lines, 1 to 500.
    /// - Returns: the lines in order; empty if no later lines exist.
    /// - Throws: `OperationsError` with `.unavailable` if Redis cannot be reached.
    public func log(from number: Int = 0, limit: Int = SluiceDefaults.batch) async throws -> [StoredLogLine] {
        let limit = Swift.min(Swift.max(1, limit), SluiceDefaults.batch)
        let (first, lines) = try await client.broker.log(id, queue: queue, from: Swift.max(0, number), limit: limit)
        return lines.enumerated().map { index, line in
            StoredLogLine(
                number: first + index,
                sentAt: line.at.map { Date(milliseconds: $0) },
                text: String(decoding: line.text, as: UTF8.self)
            )
        }
    }
}
