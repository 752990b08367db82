import Foundation
import Operations
import Selectors
import TerminalText

/// Reads the places of a query page by page. A place holds the operations of one state in one queue.
package struct ListWalk: Sendable {
    private let broker: any OperatorBroker
    private let query: OperationQuery
    /// The keys for reading arguments, and the redaction.
    private let view: PayloadView
    /// The largest number of operations to find.
    private let limit: Int
    /// The largest number of operations to examine.
    private let scanLimit: Int
    /// Whether to omit and report the queues of unreachable cluster nodes.
    private let leavesOutAbsent: Bool
    /// Whether to count the operations of the places even if all of them match.
    private let countsAll: Bool
    /// The namespace as it was read just before; nil = unknown. Places that were empty then are not read.
    private let snapshot: NamespaceSnapshot?

    package init(
        _ broker: any OperatorBroker,
        _ query: OperationQuery,
        view: PayloadView,
        limit: Int,
        scanLimit: Int,
        leavesOutAbsent: Bool = false,
        countsAll: Bool = false,
        snapshot: NamespaceSnapshot? = nil
    ) {
        (self.broker, self.query, self.view) = (broker, query, view)
        (self.limit, self.scanLimit) = (limit, scanLimit)
        (self.leavesOutAbsent, self.countsAll, self.snapshot) = (leavesOutAbsent, countsAll, snapshot)
    }

    /// The first word of the cursor in a list of members. The second word is the id of the last row.
    private static let membersCursor = "members"

    package struct Result: Sendable {
        package var found = 0
        package var scanned = 0
        /// The number of operations that could not be compared, since no key reads their encrypted arguments.
        package var unread = 0
        /// The number of operations in the places at the start of the walk; nil = not counted, since all of them match.
        package var total: Int?
        /// Sentences about queues of the query that do not exist.
        package var unknownQueues: [String] = []
        /// The nodes whose queues were omitted.
        package var absent: [AbsentNode] = []
        /// The position at which the list continues; nil = the list is complete.
        package var next: Position?
        /// Whether the walk ended at the scan limit.
        package var isCutShort: Bool { next != nil && isScanned }
        fileprivate var isScanned = false

        package init() {}
    }

    /// A place with a cursor in it. The cursor is not a number of rows, since rows come and go.
    package struct Position: Codable, Sendable, Equatable {
        package var state: OperationState
        package var queue: String
        package var cursor: String?

        package init(state: OperationState, queue: String, cursor: String? = nil) {
            (self.state, self.queue, self.cursor) = (state, queue, cursor)
        }
    }

    /// Walks through the places.
    ///
    /// - Parameter show: called with the matching operations of each page, in order.
    package func run(from start: Position?, _ show: ([OperationDetail]) -> Void) async throws -> Result {
        var result = Result()
        let known = try await broker.queues()
        result.unknownQueues = query.unknownQueues(of: known)
        var queues = query.queues(of: known)
        if leavesOutAbsent { (queues, result.absent) = try await broker.reachable(queues) }
        var now: Int64 = 0
        if query.filtersRows || countsAll {
            (now, result.total) = try await broker.extent(of: query, in: queues)
        }
        if let names = query.namesToRead(limit: scanLimit) {
            try await list(names, queues, from: start, now: now, into: &result, show)
            return result
        }
        let counts = Dictionary((snapshot?.queues ?? []).map { ($0.queue, $0.counts) }) { first, _ in first }
        let places = states.flatMap { state in
            queues.map { Position(state: state, queue: $0, cursor: nil) }
        }.filter { place in
            let isCursor = place.state == start?.state && place.queue == start?.queue
            return isCursor || counts[place.queue].map { $0[place.state] ?? 0 > 0 } ?? true
        }
        guard let start else {
            try await walk(places[...], now: now, into: &result, show)
            return result
        }
        guard let index = places.firstIndex(where: { $0.state == start.state && $0.queue == start.queue }) else {
            throw QueryError(
                "the cursor belongs to another query",
                fix: "repeat the query of the cursor, or drop --cursor"
            )
        }
        try await walk([start] + places[(index + 1)...], now: now, into: &result, show)
        return result
    }

    /// The states in the order of the list. Most errors are those of dead and retrying operations, so a search for an
    /// error begins there: among many waiting operations it might end at the scan limit before.
    private var states: [OperationState] {
        let likely: Set<OperationState> = [.dead, .retrying]
        guard query.terms.contains(where: { [.error, .signature].contains($0.field) }) else { return query.states }
        return query.states.filter(likely.contains) + query.states.filter { !likely.contains($0) }
    }

    /// Shows the matching operations among the given ones, without a search. The order is by queue, newest first.
    private func list(
        _ names: Set<DependencyName>,
        _ queues: [String],
        from start: Position?,
        now: Int64,
        into result: inout Result,
        _ show: ([OperationDetail]) -> Void
    ) async throws {
        let all = try await broker.matches(of: query, among: names, queues: queues, now: now, view: view)
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

    /// The size of the next page: at most the remaining scan limit. `scanLimit` may be `Int.max`.
    private func limit(of position: Position, _ result: Result) -> Int {
        let most = OperationPage.limit(query.sought(view))
        let rest = max(1, scanLimit - result.scanned)
        return min(most, rest)
    }

    /// Reads a page.
    ///
    /// - Returns: the next position in the place; nil = the end of the place.
    private func step(
        _ position: Position,
        now: Int64,
        into result: inout Result,
        _ show: ([OperationDetail]) -> Void
    ) async throws -> Position? {
        let page = try await broker.page(
            state: position.state,
            queue: position.queue,
            cursor: position.cursor,
            limit: limit(of: position, result),
            sought: query.sought(view)
        )
        result.scanned += page.leftOut
        var found: [OperationDetail] = []
        // Whether an ended operation is too old. All later operations of the place are then too old as well.
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
    /// The server's time, and the number of operations in the places of a query.
    package func extent(of query: OperationQuery, in queues: [String]) async throws -> (now: Int64, total: Int) {
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
    /// `scanned 100,000 of 2,314,551, 12 of them not looked at: …`; nil if the operations were not counted.
    package var coverage: String? {
        total.map { Coverage(scanned: scanned, total: $0, unread: unread).text }
    }
}

/// The extent of a walk, as the last line shows it.
package struct Coverage: Sendable {
    package var scanned: Int
    /// The number of operations in the places at the start of the walk. Some may have come or gone since.
    package var total: Int
    package var unread: Int

    package init(scanned: Int, total: Int, unread: Int) {
        (self.scanned, self.total, self.unread) = (scanned, total, unread)
    }

    package var text: String {
        let numbers = "\(QuantityText.grouped(scanned)) of \(QuantityText.grouped(max(scanned, total)))"
        guard unread > 0 else { return "scanned \(numbers)" }
        let left = QuantityText.grouped(unread)
        return "scanned \(numbers), \(left) of them not looked at: their arguments are encrypted (--keys-file FILE)"
    }
}

extension ListWalk.Position {
    /// The text of `--cursor`.
    package var text: String { (try? JSONEncoder().encode(self))?.base64EncodedString() ?? "" }

    package init(text: String) throws(QueryError) {
        guard let data = Data(base64Encoded: text), let position = try? JSONDecoder().decode(Self.self, from: data),
            position.isPossible
        else {
            throw .init("--cursor cannot be read", fix: "copy the cursor from the last line of the previous page")
        }
        self = position
    }

    /// Whether the position is valid. A cursor comes from outside and can contain anything.
    private var isPossible: Bool {
        NameRule.allows(queue) && (cursor.map { (try? OperationPage.check(cursor: $0)) != nil } ?? true)
    }
}
