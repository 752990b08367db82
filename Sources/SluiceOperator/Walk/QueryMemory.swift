import Operations
import Selectors
import Synchronization

/// Remembers the resolved query of a screen that is read again and again.
///
/// Resolving the query takes at most a twentieth of the time.
package final class QueryMemory: Sendable {
    private static let share = 20

    private struct Entry: Sendable {
        var query: OperationQuery
        var meaning: Result<OperationQuery, LookupFailure>
        var until: ContinuousClock.Instant
    }

    private let entry = Mutex<Entry?>(nil)

    package init() {}

    /// - Throws: the errors of ``MonitorBroker/resolving(_:snapshot:)``.
    package func resolved(
        _ query: OperationQuery,
        by broker: any MonitorBroker,
        _ snapshot: NamespaceSnapshot
    ) async throws -> OperationQuery {
        let begin = ContinuousClock.now
        if let known = entry.withLock({ $0 }), known.query == query, known.until > begin {
            return try known.meaning.get()
        }
        let meaning: Result<OperationQuery, LookupFailure>
        do { meaning = .success(try await broker.resolving(query, snapshot: snapshot)) } catch let error
            as LookupFailure
        {
            meaning = .failure(error)
        }
        let end = ContinuousClock.now
        entry.withLock { $0 = Entry(query: query, meaning: meaning, until: end + (end - begin) * Self.share) }
        return try meaning.get()
    }
}
