import Operations
import Selectors

/// Dead and retrying operations, grouped by their last errors.
package struct ErrorReading: Sendable {
    package var groups = ErrorGroups()
    package var result = ListWalk.Result()

    package init() {}

    /// Reads the operations of a query. A query without states selects dead and retrying operations.
    ///
    /// - Parameter scanLimit: the most operations to read.
    /// - Throws: `LookupFailure` if a value of the query matches no worker or group, or several.
    package static func read(
        _ broker: any OperatorBroker,
        _ query: OperationQuery,
        view: PayloadView,
        scanLimit: Int
    ) async throws -> ErrorReading {
        var reading = ErrorReading()
        let walk = ListWalk(
            broker,
            try await broker.resolving(whole(query)),
            view: view,
            limit: .max,
            scanLimit: scanLimit,
            leavesOutAbsent: true,
            countsAll: true
        )
        var groups = ErrorGroups()
        reading.result = try await walk.run(from: nil) { groups.add($0) }
        reading.groups = groups
        return reading
    }

    private static func whole(_ query: OperationQuery) -> OperationQuery {
        guard !query.terms.contains(where: { $0.field == .state }) else { return query }
        var query = query
        query.terms.append(.states([.dead, .retrying]))
        return query
    }
}
