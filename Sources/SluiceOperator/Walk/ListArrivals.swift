import Operations
import Selectors

/// Counts the operations that entered the places of a query, from the totals and counts of snapshots.
///
/// The difference of two marks is the number of arrivals between the snapshots. Scheduled and blocked operations have
/// no totals, so arrivals that replace others are not counted there.
package enum ListArrivals {
    package static func mark(_ query: OperationQuery, _ snapshot: NamespaceSnapshot) -> Int64 {
        let states = Set(query.states)
        let queues = Set(query.queues(of: snapshot.queues.map(\.queue)))
        return snapshot.queues.filter { queues.contains($0.queue) }.reduce(0) { sum, queue in
            if states.count == OperationState.allCases.count { return sum + (queue.totals["enqueued"] ?? 0) }
            return sum + states.reduce(0) { $0 + entered($1, queue) }
        }
    }

    private static func entered(_ state: OperationState, _ queue: QueueSnapshot) -> Int64 {
        let count = Int64(queue.counts[state] ?? 0)
        switch state {
        case .ready: return count + (queue.totals["started"] ?? 0)
        case .executing: return queue.totals["started"] ?? 0
        case .retrying: return queue.totals["retried"] ?? 0
        case .finished, .dead, .cancelled, .expired: return queue.totals[state.rawValue] ?? 0
        case .scheduled, .blocked: return count
        }
    }
}
