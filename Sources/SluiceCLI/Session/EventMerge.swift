/// Puts what is kept of several queues into the order of its times. Each queue's events are in order already.
struct EventMerge {
    private struct Part {
        var queue: String
        /// The next one last.
        var items: [EventFeed.Item]
        /// Whether the queue has no more than these.
        var isLast: Bool
        var at: Int64 { items.last?.at ?? .max }
    }

    /// The queue with the oldest next event last.
    private var parts: [Part] = []

    /// Adds the next events of a queue of which nothing is left here.
    mutating func add(_ items: [EventFeed.Item], of queue: String, isLast: Bool) {
        insert(Part(queue: queue, items: items.reversed(), isLast: isLast))
    }

    /// The oldest event, and whether the queue's next ones are to be read now; nil = these were all.
    mutating func next() -> (item: EventFeed.Item, queue: String, isUsedUp: Bool)? {
        guard var part = parts.popLast(), let item = part.items.popLast() else { return nil }
        let isUsedUp = part.items.isEmpty
        if !isUsedUp { insert(part) }
        return (item, part.queue, isUsedUp && !part.isLast)
    }

    private mutating func insert(_ part: Part) {
        guard !part.items.isEmpty else { return }
        var (low, high) = (0, parts.count)
        while low < high {
            let middle = (low + high) / 2
            if parts[middle].at > part.at { low = middle + 1 } else { high = middle }
        }
        parts.insert(part, at: low)
    }
}
