import Operations
import Selectors

extension MonitorBroker {
    /// Reads the members of a group, each with its queue.
    package func members(of group: OperationID, queue: String) async throws -> Set<DependencyName> {
        Set(try await edges(.needs, of: group, queue: queue).map { DependencyName($0.id, queue: $0.queue ?? queue) })
    }

    /// Reads operations by name and returns those that match a query: in the order of lists, and newest first in each
    /// state and queue.
    ///
    /// - Parameter queues: the queues to read. Operations in other queues are left out.
    package func matches(
        of query: OperationQuery,
        among names: Set<DependencyName>,
        queues: [String],
        now: Int64,
        view: PayloadView
    ) async throws -> (found: [OperationDetail], scanned: Int, unread: Int) {
        var found: [OperationDetail] = []
        var (scanned, unread) = (0, 0)
        let byQueue = Dictionary(grouping: names) { $0.queue ?? "" }
        for queue in queues {
            guard let names = byQueue[queue] else { continue }
            scanned += names.count
            for detail in try await allDetails(names.map(\.id).sorted(by: >), queue: queue) {
                guard let detail else { continue }
                switch query.match(detail, now: now, view: view) {
                case .yes: found.append(detail)
                case .unread: unread += 1
                case .no: break
                }
            }
        }
        let byState = Dictionary(grouping: found, by: \.state)
        return (query.states.flatMap { byState[$0] ?? [] }, scanned, unread)
    }
}

extension OperationQuery {
    /// The most operations to read by their ids. For more, the places are searched.
    private static let mostRead = 20_000

    /// Returns the operations to read by their ids instead of a search; nil = the query names none, or too many.
    ///
    /// - Parameter limit: the most operations to read.
    package func namesToRead(limit: Int = .max) -> Set<DependencyName>? {
        named.flatMap { $0.count <= min(Self.mostRead, limit) ? $0 : nil }
    }
}
