import Operations
import Sluice
import SluiceMonitor

/// Finds the operations of a query that existed when the walk began, in chunks, even while operations change their states.
///
/// Sequence numbers show which operations existed. A pass walks the places of a queue in the order in which operations go through them, so an
/// operation that moves forward is found later in the same pass. One that moves back, or out of a page, is found in the next pass. The walk ends
/// after a pass that finds nothing new while nothing moved, or, in a busy queue, after three such passes in a row.
struct ChangeWalk: Sendable {
    private static let page = 200
    private static let quietPasses = 3
    /// The order in which operations go through the states.
    private static let order: [OperationState] = [
        .scheduled, .blocked, .retrying, .ready, .executing, .finished, .dead, .cancelled, .expired,
    ]

    let client: SluiceClient
    let query: OperationQuery
    /// Whether operations need a record. A waiting untracked operation has none and cannot be addressed.
    let needsRecord: Bool
    /// Most operations to examine; nil = all.
    let scanLimit: Int?
    /// Called before each page; true ends the walk.
    let stop: @Sendable () -> Bool
    /// The queues of the query, with the highest sequence number of each when the walk began.
    private let queues: [(name: String, sequence: Int64)]

    struct Result: Sendable {
        var found = 0
        var scanned = 0
        /// Whether the walk ended at the scan limit.
        var isCutShort = false
        var isStopped = false
        fileprivate var isOver: Bool { isCutShort || isStopped }
    }

    init(
        client: SluiceClient,
        query: OperationQuery,
        needsRecord: Bool,
        scanLimit: Int?,
        stop: @escaping @Sendable () -> Bool = { false }
    ) async throws {
        self.client = client
        self.query = query
        self.needsRecord = needsRecord
        self.scanLimit = scanLimit
        self.stop = stop
        let snapshot = try await client.snapshot(executingRows: 0)
        // A change that leaves out some queues would look like success.
        if let node = snapshot.absent.first(where: { !query.queues(of: $0.queues).isEmpty }) {
            throw CLIError(
                .unreachable,
                node.sentence,
                fix: "name queues of other nodes with queue:NAME, or wait for this node"
            )
        }
        let meant = Set(query.queues(of: snapshot.queues.map(\.queue)))
        queues = snapshot.queues.filter { meant.contains($0.queue) }.map { ($0.queue, $0.sequence) }
    }

    /// Copies a walk, with another closure that can end it early.
    private init(_ walk: ChangeWalk, stop: @escaping @Sendable () -> Bool) {
        (client, query, needsRecord, scanLimit) = (walk.client, walk.query, walk.needsRecord, walk.scanLimit)
        (queues, self.stop) = (walk.queues, stop)
    }

    func stopping(when stop: @escaping @Sendable () -> Bool) -> ChangeWalk { ChangeWalk(self, stop: stop) }

    /// Counts the operations that one pass finds.
    func count() async throws -> Result {
        var result = Result()
        for queue in queues where !result.isOver {
            var handled = SequenceSet()
            try await pass(queue, &handled, &result, scannedBefore: result.scanned) { _, _ in }
        }
        return result
    }

    /// Finds all operations, each once.
    ///
    /// - Parameter body: called with the queue and at most 500 ids, while the walk waits.
    func run(_ body: (String, [OperationID]) async throws -> Void) async throws -> Result {
        var result = Result()
        for queue in queues where !result.isOver {
            let scannedBefore = result.scanned
            var handled = SequenceSet()
            var quiet = 0
            repeat {
                let moved = try await eventSequence(of: queue.name)
                let found = result.found
                try await pass(queue, &handled, &result, scannedBefore: scannedBefore, body)
                quiet = result.found == found ? quiet + 1 : 0
                if quiet > 0, try await eventSequence(of: queue.name) == moved { break }
            } while quiet < Self.quietPasses && !result.isOver
        }
        return result
    }

    private func eventSequence(of queue: String) async throws -> Int64 {
        try await client.broker.snapshot(queue: queue, executingRows: 0).eventSequence
    }

    /// - Parameter scannedBefore: how many were examined in other queues. Each pass examines the same ones again.
    private func pass(
        _ queue: (name: String, sequence: Int64),
        _ handled: inout SequenceSet,
        _ result: inout Result,
        scannedBefore: Int,
        _ body: (String, [OperationID]) async throws -> Void
    ) async throws {
        var scanned = 0
        defer { result.scanned = max(result.scanned, scannedBefore + scanned) }
        let states = Set(query.states)
        for state in Self.order where states.contains(state) {
            var chunk: [OperationID] = []
            var cursor: String?
            repeat {
                result.isStopped = stop()
                if result.isStopped { return }
                let page = try await client.broker.page(
                    state: state,
                    queue: queue.name,
                    cursor: cursor,
                    limit: Self.page
                )
                for operation in page.operations {
                    let header = operation.record.header
                    guard header.sequence <= queue.sequence, !handled.contains(header.sequence) else { continue }
                    result.isCutShort = scannedBefore + scanned >= scanLimit ?? .max
                    if result.isCutShort { break }
                    scanned += 1
                    guard query.matches(operation), header.tracked || !needsRecord else { continue }
                    handled.insert(header.sequence)
                    result.found += 1
                    chunk.append(header.id)
                }
                cursor = result.isCutShort ? nil : page.cursor
                if chunk.count > Defaults.batch - Self.page || (cursor == nil && !chunk.isEmpty) {
                    try await body(queue.name, chunk)
                    chunk = []
                }
            } while cursor != nil
            if result.isCutShort { return }
        }
    }
}

/// A set of sequence numbers, 64 in a word, so that consecutive numbers need little memory.
struct SequenceSet: Sendable {
    private var words: [Int64: UInt64] = [:]

    func contains(_ number: Int64) -> Bool { words[number >> 6].map { $0 & Self.bit(number) != 0 } ?? false }

    mutating func insert(_ number: Int64) { words[number >> 6, default: 0] |= Self.bit(number) }

    private static func bit(_ number: Int64) -> UInt64 { 1 << UInt64(number & 63) }
}
