import Foundation
import Operations
import Selectors
import Sluice
import TerminalText

/// Reads the places of a query page by page: each state's place in each queue.
struct ListWalk: Sendable {
    let client: SluiceClient
    let query: OperationQuery
    /// The keys that read arguments, and what is hidden.
    let view: PayloadView
    /// Most operations to find.
    let limit: Int
    /// Most operations to examine.
    let scanLimit: Int
    /// Whether to leave out and report the queues of cluster nodes that cannot be reached.
    var leavesOutAbsent = false
    /// Whether to count the operations of the places even if all of them match.
    var countsAll = false

    /// The first word of the cursor of a list of members; the second one is the id of the last row.
    private static let membersCursor = "members"

    struct Result: Sendable {
        var found = 0
        var scanned = 0
        /// How many operations could not be compared, because their arguments are encrypted and there is no key.
        var unread = 0
        /// How many operations the places had when the walk began; nil = not counted, because all of them match.
        var total: Int?
        /// Sentences about queues of the query that do not exist.
        var unknownQueues: [String] = []
        /// Nodes whose queues were left out.
        var absent: [AbsentNode] = []
        /// Where the list continues; nil = this was all.
        var next: Position?
        /// Whether the walk ended at the scan limit.
        var isCutShort: Bool { next != nil && isScanned }
        fileprivate var isScanned = false
    }

    /// A place, and what is done of it: never a number of rows, since rows come and go.
    struct Position: Codable, Sendable, Equatable {
        var state: OperationState
        var queue: String
        var cursor: String?
    }

    /// - Parameter show: called with the matching operations of each page, in order.
    func run(from start: Position?, _ show: ([OperationDetail]) -> Void) async throws -> Result {
        var result = Result()
        let known = try await client.queues()
        result.unknownQueues = query.unknownQueues(of: known)
        var queues = query.queues(of: known)
        if leavesOutAbsent { (queues, result.absent) = try await client.broker.reachable(queues) }
        var now: Int64 = 0
        if query.filtersRows || countsAll {
            (now, result.total) = try await client.broker.extent(of: query, in: queues)
        }
        if let names = query.namesToRead(limit: scanLimit) {
            try await list(names, queues, from: start, now: now, into: &result, show)
            return result
        }
        let places = query.states.flatMap { state in
            queues.map { Position(state: state, queue: $0, cursor: nil) }
        }
        guard let start else {
            try await walk(places[...], now: now, into: &result, show)
            return result
        }
        guard let index = places.firstIndex(where: { $0.state == start.state && $0.queue == start.queue }) else {
            throw CLIError.usage(
                "the cursor belongs to another query",
                fix: "repeat the query of the cursor, or drop --cursor"
            )
        }
        try await walk([start] + places[(index + 1)...], now: now, into: &result, show)
        return result
    }

    /// Shows those of these operations that match, without a search: by queue, the newest first.
    private func list(
        _ names: Set<DependencyName>,
        _ queues: [String],
        from start: Position?,
        now: Int64,
        into result: inout Result,
        _ show: ([OperationDetail]) -> Void
    ) async throws {
        let all = try await client.broker.matches(of: query, among: names, queues: queues, now: now, view: view)
        var rest = all.found.sorted { ($0.queue, $1.id) < ($1.queue, $0.id) }
        if let start, let last = Self.lastMember(start) {
            rest.removeAll { ($0.queue, last) <= (start.queue, $0.id) }
        }
        let found = Array(rest.prefix(limit))
        (result.found, result.scanned, result.unread) = (found.count, all.scanned, all.unread)
        result.total = all.scanned
        if !found.isEmpty { show(found) }
        guard let last = found.last, found.count < rest.count else { return }
        result.next = Position(state: last.state, queue: last.queue, cursor: "\(Self.membersCursor) \(last.id)")
    }

    private static func lastMember(_ position: Position) -> OperationID? {
        let words = (position.cursor ?? "").split(separator: " ")
        return words.count == 2 && words[0] == membersCursor ? OperationID(String(words[1])) : nil
    }

    private func walk(
        _ places: ArraySlice<Position>,
        now: Int64,
        into result: inout Result,
        _ show: ([OperationDetail]) -> Void
    ) async throws {
        for place in places {
            var position: Position? = place
            while let current = position, result.next == nil {
                position = try await step(current, now: now, into: &result, show)
            }
        }
    }

    /// As many operations as a page may have, but none beyond the scan limit, which may be the highest number there is.
    private func limit(of position: Position, _ result: Result) -> Int {
        let most = OperationPage.limit(query.sought)
        let rest = max(1, scanLimit - result.scanned)
        return min(most, rest)
    }

    /// Reads one page. - Returns: the next position in the place; nil = its end.
    private func step(
        _ position: Position,
        now: Int64,
        into result: inout Result,
        _ show: ([OperationDetail]) -> Void
    ) async throws -> Position? {
        let page = try await client.broker.page(
            state: position.state,
            queue: position.queue,
            cursor: position.cursor,
            limit: limit(of: position, result),
            sought: query.sought
        )
        result.scanned += page.leftOut
        var found: [OperationDetail] = []
        // An ended operation that is too old: all behind it are older.
        var isOver = false
        for (index, operation) in page.operations.enumerated() {
            guard result.found < limit, result.scanned < scanLimit else {
                result.isScanned = result.scanned >= scanLimit
                result.next = Position(
                    state: position.state,
                    queue: position.queue,
                    cursor: index == 0 ? position.cursor : page.places[index - 1]
                )
                break
            }
            result.scanned += 1
            switch query.match(operation, now: now, view: view) {
            case .yes:
                result.found += 1
                found.append(operation)
            case .unread: result.unread += 1
            case .no: isOver = query.endsWalk(at: operation, now: now)
            }
            if isOver { break }
        }
        if !found.isEmpty { show(found) }
        if isOver { return nil }
        if result.next == nil, result.scanned >= scanLimit, let cursor = page.cursor {
            result.isScanned = true
            result.next = Position(state: position.state, queue: position.queue, cursor: cursor)
        }
        return page.cursor.map { Position(state: position.state, queue: position.queue, cursor: $0) }
    }
}

extension MonitorBroker {
    /// The server's time, and how many operations the places of a query have.
    func extent(of query: OperationQuery, in queues: [String]) async throws -> (now: Int64, total: Int) {
        let states = query.states
        return try await withThrowingTaskGroup(of: QueueSnapshot.self) { group in
            for queue in queues { group.addTask { try await snapshot(queue: queue, executingRows: 0) } }
            return try await group.reduce(into: (0, 0)) { extent, snapshot in
                extent.0 = max(extent.0, snapshot.time)
                extent.1 += states.reduce(0) { $0 + (snapshot.counts[$1] ?? 0) }
            }
        }
    }
}

extension ListWalk.Result {
    /// `scanned 100,000 of 2,314,551; 12 not looked at: encrypted, and there is no key`; nil = all of the places match.
    var coverage: String? {
        total.map { Coverage(scanned: scanned, total: $0, unread: unread).text }
    }
}

/// What a walk has covered, as its last line says it.
struct Coverage: Sendable {
    var scanned: Int
    /// How many operations the places had when the walk began. Some may have come or gone since.
    var total: Int
    var unread: Int

    var text: String {
        let numbers = "\(QuantityText.grouped(scanned)) of \(QuantityText.grouped(max(scanned, total)))"
        guard unread > 0 else { return "scanned \(numbers)" }
        let left = QuantityText.grouped(unread)
        return "scanned \(numbers), \(left) of them not looked at: their arguments are encrypted (--keys-file FILE)"
    }
}

extension ListWalk.Position {
    /// The text of `--cursor`.
    var text: String { (try? JSONEncoder().encode(self))?.base64EncodedString() ?? "" }

    init(text: String) throws(CLIError) {
        guard let data = Data(base64Encoded: text), let position = try? JSONDecoder().decode(Self.self, from: data),
            position.isPossible
        else {
            throw .usage("--cursor cannot be read", fix: "copy the cursor from the last line of the previous page")
        }
        self = position
    }

    /// A cursor comes from outside, so anything may stand in it.
    private var isPossible: Bool {
        NameRule.allows(queue) && (cursor.map { (try? OperationPage.check(cursor: $0)) != nil } ?? true)
    }
}
