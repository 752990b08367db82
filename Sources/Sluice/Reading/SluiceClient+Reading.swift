import Foundation

/// Reads, which change nothing. Each call throws `OperationsError` with `.invalidName` for a name that cannot be one, and `.unavailable` if
/// Redis cannot be reached.
extension SluiceClient {
    /// The names of the namespace's queues, sorted: all to which something was ever enqueued, or that a worker has served.
    public func queues() async throws -> [String] { try await broker.queues() }

    /// Counts, totals and pause of a queue, read in one step.
    ///
    /// - Parameter queue: its name. A queue that was never used has zero of everything.
    public func statistics(queue: String = Defaults.queue) async throws -> QueueStatistics {
        try NameRule.check(queue, role: "queue")
        return QueueStatistics(try await broker.snapshot(queue: queue, executingRows: 0))
    }

    /// The operations of a queue that are in a state, read page by page while the loop goes on.
    ///
    /// ```swift
    /// for try await dead in sluice.operations(.dead, queue: "mail") where dead.name == "SendEmail" {
    ///     try await sluice.retry([dead.reference.id], queue: "mail")
    /// }
    /// ```
    ///
    /// Ready operations come in the order in which workers take them, others with the newest first. An operation that changes its state
    /// during the loop may come twice or not at all.
    ///
    /// - Parameters:
    ///   - state: the state.
    ///   - queue: the name of the queue.
    /// - Returns: a sequence that reads a page of 200 operations when the loop needs it.
    public func operations(_ state: OperationState, queue: String = Defaults.queue) -> StoredOperations {
        StoredOperations(client: self, state: state, queue: queue)
    }
}

/// The operations of a queue that are in a state. See `SluiceClient.operations(_:queue:)`.
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

    /// Reads the next page when the one before has been returned.
    public struct Iterator: AsyncIteratorProtocol {
        private let operations: StoredOperations
        private var page: ArraySlice<OperationDetail> = []
        private var cursor: String?
        private var isAtEnd = false

        fileprivate init(of operations: StoredOperations) { self.operations = operations }

        /// The next operation; nil after the last one.
        ///
        /// - Throws: `OperationsError` with `.invalidName` for a name that cannot be a queue's, `.unavailable` if Redis cannot be reached.
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
    /// Lines of its log.
    ///
    /// - Parameters:
    ///   - number: the number of the first line to read; dropped lines are left out.
    ///   - limit: most lines to read, 1 to 500.
    /// - Returns: the lines in their order; empty if there are no more.
    /// - Throws: `OperationsError` with `.unavailable` if Redis cannot be reached.
    public func log(from number: Int = 0, limit: Int = Defaults.batch) async throws -> [StoredLogLine] {
        let limit = Swift.min(Swift.max(1, limit), Defaults.batch)
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
