import Foundation
import Operations
import SluiceOperator
import Synchronization

/// The newest stored events that a filter shows.
final class NewestEvents: Sendable {
    private let limit: Int
    private let filter: EventFilter
    /// The last event of the page before; nil = this is the first page.
    private let before: Mark?
    private let isWanted: @Sendable (QueueChange) -> Bool
    private let kept = Mutex<[EventFeed.Item]>([])

    /// A place in the list: a time, and how many events of that time are shown before.
    struct Mark: Sendable, Equatable {
        var at: Int64
        var shown: Int

        init(at: Int64, shown: Int) { (self.at, self.shown) = (at, shown) }

        /// The most events of one time.
        private static let mostShown: UInt32 = 1_000_000

        /// Reads `AT-SHOWN`.
        ///
        /// - Throws: `PageFailure` if the text is no place.
        init(text: String) throws(PageFailure) {
            let parts = text.split(separator: "-", omittingEmptySubsequences: false)
            guard parts.count == 2, let at = UInt64(parts[0]).flatMap({ Int64(exactly: $0) }),
                let shown = UInt32(parts[1]), shown <= Self.mostShown
            else {
                throw .badRequest("The place in the list is not one that a page has written. Begin with the newest.")
            }
            self.init(at: at, shown: Int(shown))
        }

        var text: String { "\(at)-\(shown)" }
    }

    /// - Parameter isWanted: whether the change of an event is wanted; events without a change are.
    init(
        limit: Int,
        filter: EventFilter,
        before: Mark? = nil,
        isWanted: @escaping @Sendable (QueueChange) -> Bool = { _ in true }
    ) {
        (self.limit, self.filter, self.before, self.isWanted) = (limit, filter, before, isWanted)
    }

    /// The number of events to keep: those of the page, one that shows that there are more, and those that the page
    /// before has shown.
    private var most: Int { limit + 1 + (before?.shown ?? 0) }

    /// Reads the events of the queues that can be reached.
    ///
    /// - Parameter named: the queues; nil = all.
    func read(_ broker: any OperatorBroker, queues named: [String]? = nil, since: Duration) async throws {
        let known = try await broker.queues()
        let (queues, _) = try await broker.reachable(named.map { $0.filter(known.contains) } ?? known)
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
        if let before, at > before.at { return }
        kept.withLock { kept in
            kept.append(.batch(part, at: at))
            if kept.count >= most * 2 { kept.removeFirst(kept.count - most) }
        }
    }

    private var rest: [EventFeed.Item] {
        let all = kept.withLock { Array($0.suffix(most).reversed()) }
        guard let before else { return all }
        return Array(all.dropFirst(min(before.shown, all.prefix { $0.at == before.at }.count)))
    }

    /// The items, newest first.
    var items: [EventFeed.Item] { Array(rest.prefix(limit)) }

    /// The place at which the next page begins; nil = there is none.
    var older: Mark? {
        let items = items
        guard rest.count > limit, let last = items.last?.at else { return nil }
        let same = items.count { $0.at == last }
        return Mark(at: last, shown: same + (before?.at == last ? before?.shown ?? 0 : 0))
    }
}
