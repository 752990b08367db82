import Operations
import SluiceOperator

/// Keeps the shown rows of all open lists current, with at most one call to Redis for each snapshot.
///
/// Rows of running operations come from the snapshot. Others are read again only if their queue has had events since.
/// If several queues have, the one that was read longest ago comes first.
actor ListRows {
    /// The most rows of a page.
    static let most = 200
    private static let remembered = 10_000
    private static let age = Duration.seconds(30)

    private struct Entry {
        var row: ListRow?
        /// The number of the queue's last event before the read.
        var events: Int64
        var askedAt: ContinuousClock.Instant
    }

    private let broker: any OperatorBroker
    private let view: PayloadView
    private var entries: [OperationAddress: Entry] = [:]
    /// The number of the snapshot with which each queue was read last.
    private var readWith: [String: Int] = [:]
    private var executing: [OperationAddress: ListRow] = [:]
    private var sequence = -1
    private var read: Task<Void, any Error>?

    init(_ broker: any OperatorBroker, view: PayloadView) { (self.broker, self.view) = (broker, view) }

    /// Remembers rows that a page has just read.
    func add(_ rows: [ListRow], _ board: Board) {
        guard entries.count < Self.remembered else { return }
        let events = Self.events(board)
        for row in rows {
            entries[row.address] = Entry(row: row, events: events[row.address.queue] ?? -1, askedAt: .now)
        }
    }

    /// Returns the rows that are known of these operations.
    func rows(_ asked: [OperationAddress], _ board: Board, sequence: Int) async throws -> [ListRow] {
        for address in asked.prefix(Self.most) {
            guard entries[address] != nil || entries.count < Self.remembered else { break }
            entries[address, default: Entry(events: -1, askedAt: .now)].askedAt = .now
        }
        if sequence > self.sequence {
            self.sequence = sequence
            entries = entries.filter { $0.value.askedAt.duration(to: .now) < Self.age }
            executing = ListRow.executing(board)
            read = Task { try await readNext(board, sequence: sequence) }
        }
        try await read?.value
        return asked.prefix(Self.most).compactMap { executing[$0] ?? entries[$0]?.row }
    }

    private static func events(_ board: Board) -> [String: Int64] {
        Dictionary(board.snapshot.queues.map { ($0.queue, $0.eventSequence) }) { first, _ in first }
    }

    /// Reads the outdated rows of one queue.
    private func readNext(_ board: Board, sequence: Int) async throws {
        let events = Self.events(board)
        let outdated = entries.filter { address, entry in
            executing[address] == nil && events[address.queue].map { $0 != entry.events } ?? false
        }
        let queues = Set(outdated.keys.map(\.queue))
        guard let queue = queues.min(by: { (readWith[$0] ?? -1, $0) < (readWith[$1] ?? -1, $1) }) else { return }
        readWith[queue] = sequence
        let ids = outdated.filter { $0.key.queue == queue }.sorted { $0.value.events < $1.value.events }
            .prefix(SluiceDefaults.batch).map(\.key.id)
        for (id, detail) in zip(ids, try await broker.details(ids, queue: queue)) {
            let address = OperationAddress(queue: queue, id: id)
            entries[address]?.events = events[queue] ?? -1
            if let detail { entries[address]?.row = ListRow(detail, view) }
        }
    }
}
