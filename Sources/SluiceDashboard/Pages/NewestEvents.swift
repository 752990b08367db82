import Foundation
import Operations
import SluiceOperator
import Synchronization

/// The newest stored events that a filter shows.
final class NewestEvents: Sendable {
    private let limit: Int
    private let filter: EventFilter
    private let isWanted: @Sendable (QueueChange) -> Bool
    private let kept = Mutex<[EventFeed.Item]>([])

    /// - Parameter isWanted: whether the change of an event is wanted; events without a change are.
    init(limit: Int, filter: EventFilter, isWanted: @escaping @Sendable (QueueChange) -> Bool = { _ in true }) {
        (self.limit, self.filter, self.isWanted) = (limit, filter, isWanted)
    }

    /// Reads the events of all queues that can be reached.
    func read(_ broker: any OperatorBroker, since: Duration) async throws {
        let (queues, _) = try await broker.reachable(try await broker.queues())
        guard !queues.isEmpty else { return }
        let feed = EventFeed(
            broker,
            since: since,
            follows: false,
            queues: queues,
            filter: filter,
            now: { Int64(Date().timeIntervalSince1970 * 1000) },
            output: { [self] in add($0) }
        )
        try await feed.run()
    }

    private func add(_ item: EventFeed.Item) {
        guard case .batch(let batch, let at) = item, let part = filter.part(of: batch),
            part.change.map(isWanted) ?? true
        else { return }
        kept.withLock { kept in
            kept.append(.batch(part, at: at))
            if kept.count >= limit * 2 { kept.removeFirst(kept.count - limit) }
        }
    }

    /// The items, newest first.
    var items: [EventFeed.Item] { kept.withLock { Array($0.suffix(limit).reversed()) } }
}
