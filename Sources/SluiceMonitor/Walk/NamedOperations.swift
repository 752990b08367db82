import Operations
import Selectors

extension MonitorBroker {
    /// The members of a group, each with its queue.
    package func members(of group: OperationID, queue: String) async throws -> Set<DependencyName> {
        Set(try await edges(.needs, of: group, queue: queue).map { DependencyName($0.id, queue: $0.queue ?? queue) })
    }

    /// Reads operations of these names and finds those that match a query: in the order of lists, and of each state and queue the newest first.
    ///
    /// - Parameter queues: what is in others is left out.
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
    /// So many operations are read by their ids at most. Of more, the places are searched.
    private static let mostRead = 20_000

    /// Operations that are to be read by their ids instead of a search; nil = there are none, or too many.
    ///
    /// - Parameter limit: how many may be read.
    package func namesToRead(limit: Int = .max) -> Set<DependencyName>? {
        named.flatMap { $0.count <= min(Self.mostRead, limit) ? $0 : nil }
    }
}
