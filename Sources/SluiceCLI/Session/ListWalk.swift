import Foundation
import Operations
import Sluice

/// Walks the places of a query page by page: each state's place in each queue.
struct ListWalk: Sendable {
    private static let page = 200

    let client: SluiceClient
    let query: OperationQuery
    let limit: Int
    /// Most operations to look at.
    let scanLimit: Int

    struct Result: Sendable {
        var operations: [OperationDetail] = []
        var scanned = 0
        /// Where to go on; nil = this was all.
        var next: Position?
    }

    /// A place, a page of it, and how much of that page is done.
    struct Position: Codable, Sendable, Equatable {
        var state: OperationState
        var queue: String
        var cursor: String?
        var skip: Int
    }

    func run(from start: Position?) async throws -> Result {
        let queues = query.queues(of: try await client.broker.queues())
        let places = query.states.flatMap { state in
            queues.map { Position(state: state, queue: $0, cursor: nil, skip: 0) }
        }
        var result = Result()
        guard let start else { return try await walk(places[...], into: &result) }
        guard let index = places.firstIndex(where: { $0.state == start.state && $0.queue == start.queue }) else {
            throw CLIError.usage("the cursor belongs to another query", fix: "the same query as before, or no --cursor")
        }
        return try await walk([start] + places[(index + 1)...], into: &result)
    }

    private func walk(_ places: ArraySlice<Position>, into result: inout Result) async throws -> Result {
        for place in places {
            var position: Position? = place
            while let current = position {
                if result.operations.count >= limit || result.scanned >= scanLimit {
                    result.next = current
                    return result
                }
                position = try await step(current, into: &result)
            }
        }
        return result
    }

    /// Reads one page. - Returns: the next position in the place; nil = its end.
    private func step(_ position: Position, into result: inout Result) async throws -> Position? {
        let page = try await client.broker.page(
            state: position.state,
            queue: position.queue,
            cursor: position.cursor,
            limit: Self.page
        )
        var done = min(position.skip, page.operations.count)
        for operation in page.operations.dropFirst(position.skip) where result.operations.count < limit {
            done += 1
            result.scanned += 1
            if query.matches(operation) { result.operations.append(operation) }
        }
        if done < page.operations.count {
            return Position(state: position.state, queue: position.queue, cursor: position.cursor, skip: done)
        }
        return page.cursor.map { Position(state: position.state, queue: position.queue, cursor: $0, skip: 0) }
    }
}

extension ListWalk.Position {
    /// The text of `--cursor`.
    var text: String { (try? JSONEncoder().encode(self))?.base64EncodedString() ?? "" }

    init(text: String) throws(CLIError) {
        guard let data = Data(base64Encoded: text), let position = try? JSONDecoder().decode(Self.self, from: data)
        else {
            throw .usage("--cursor cannot be read", fix: "the text that the page before ended with")
        }
        self = position
    }
}
