/// Finished operations by key, limited by age and number. A pure value: callers pass the time.
struct ResultCache<Key: Hashable & Sendable, Entry: Sendable, Instant: InstantProtocol>: Sendable
where Instant.Duration == Duration {
    private struct Item: Sendable {
        let entry: Entry
        let since: Instant
        let number: Int
    }

    private let maximumAge: Duration
    private let maximumCount: Int
    private var items: [Key: Item] = [:]
    /// Oldest first, including entries that were replaced or removed since.
    private var order: [(key: Key, number: Int)] = []
    private var dropped = 0
    private var number = 0

    init(maximumAge: Duration, maximumCount: Int) {
        self.maximumAge = maximumAge
        self.maximumCount = maximumCount
    }

    var count: Int { items.count }

    mutating func insert(_ entry: Entry, for key: Key, at now: Instant) {
        guard maximumAge > .zero, maximumCount > 0 else { return }
        number += 1
        items[key] = Item(entry: entry, since: now, number: number)
        order.append((key, number))
        trim(at: now)
    }

    /// Returns the entry of a key; nil if none is stored or it is too old.
    mutating func entry(for key: Key, at now: Instant) -> Entry? {
        guard let item = items[key] else { return nil }
        guard item.since.duration(to: now) < maximumAge else {
            items[key] = nil
            return nil
        }
        return item.entry
    }

    mutating func remove(_ key: Key) { items[key] = nil }

    mutating func removeAll() {
        items = [:]
        order = []
        dropped = 0
    }

    private mutating func trim(at now: Instant) {
        while dropped < order.count {
            let (key, number) = order[dropped]
            if let item = items[key], item.number == number {
                guard items.count > maximumCount || item.since.duration(to: now) >= maximumAge else { break }
                items[key] = nil
            }
            dropped += 1
        }
        guard dropped > 64, dropped * 2 > order.count else { return }
        order.removeFirst(dropped)
        dropped = 0
    }
}
