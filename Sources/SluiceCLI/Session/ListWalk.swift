import Foundation
import Operations
import Sluice

/// Reads the places of a query page by page: each state's place in each queue.
struct ListWalk: Sendable {
    private static let page = 200

    let client: SluiceClient
    let query: OperationQuery
    /// Most operations to find.
    let limit: Int
    /// Most operations to examine.
    let scanLimit: Int
    /// Whether to leave out and report the queues of cluster nodes that cannot be reached.
    var leavesOutAbsent = false

    struct Result: Sendable {
        var found = 0
        var scanned = 0
        /// Nodes whose queues were left out.
        var absent: [AbsentNode] = []
        /// Where the list continues; nil = this was all.
        var next: Position?
        /// Whether the walk ended at the scan limit.
        var isCutShort: Bool { next != nil && isScanned }
        fileprivate var isScanned = false
    }

    /// A place, a page in it, and how much of that page is done.
    struct Position: Codable, Sendable, Equatable {
        var state: OperationState
        var queue: String
        var cursor: String?
        var skip: Int
    }

    /// - Parameter show: called with the matching operations of each page, in order.
    func run(from start: Position?, _ show: ([OperationDetail]) -> Void) async throws -> Result {
        var result = Result()
        var queues = query.queues(of: try await client.broker.queues())
        if leavesOutAbsent { (queues, result.absent) = try await client.broker.reachable(queues) }
        let places = query.states.flatMap { state in
            queues.map { Position(state: state, queue: $0, cursor: nil, skip: 0) }
        }
        guard let start else {
            try await walk(places[...], into: &result, show)
            return result
        }
        guard let index = places.firstIndex(where: { $0.state == start.state && $0.queue == start.queue }) else {
            throw CLIError.usage(
                "the cursor belongs to another query",
                fix: "repeat the query of the cursor, or drop --cursor"
            )
        }
        try await walk([start] + places[(index + 1)...], into: &result, show)
        return result
    }

    private func walk(
        _ places: ArraySlice<Position>,
        into result: inout Result,
        _ show: ([OperationDetail]) -> Void
    ) async throws {
        for place in places {
            var position: Position? = place
            while let current = position, result.next == nil {
                position = try await step(current, into: &result, show)
            }
        }
    }

    /// Reads one page. - Returns: the next position in the place; nil = its end.
    private func step(
        _ position: Position,
        into result: inout Result,
        _ show: ([OperationDetail]) -> Void
    ) async throws -> Position? {
        let page = try await client.broker.page(
            state: position.state,
            queue: position.queue,
            cursor: position.cursor,
            limit: Self.page
        )
        var found: [OperationDetail] = []
        for (index, operation) in page.operations.enumerated().dropFirst(position.skip) {
            guard result.found < limit, result.scanned < scanLimit else {
                result.isScanned = result.scanned >= scanLimit
                result.next = Position(
                    state: position.state,
                    queue: position.queue,
                    cursor: position.cursor,
                    skip: index
                )
                break
            }
            result.scanned += 1
            guard query.matches(operation) else { continue }
            result.found += 1
            found.append(operation)
        }
        if !found.isEmpty { show(found) }
        return page.cursor.map { Position(state: position.state, queue: position.queue, cursor: $0, skip: 0) }
    }
}

extension ListWalk.Position {
    /// The text of `--cursor`.
    var text: String { (try? JSONEncoder().encode(self))?.base64EncodedString() ?? "" }

    init(text: String) throws(CLIError) {
        guard let data = Data(base64Encoded: text), let position = try? JSONDecoder().decode(Self.self, from: data)
        else {
            throw .usage("--cursor cannot be read", fix: "copy the cursor from the last line of the previous page")
        }
        self = position
    }
}
