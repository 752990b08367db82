/// Merges the stored events of several queues by time. The events of each queue are in order already.
struct EventMerge {
    private struct Part {
        var queue: String
        /// The events in reverse order, so the next one is last.
        var items: [EventFeed.Item]
        /// Whether the queue has no further stored events.
        var isLast: Bool
        var at: Int64 { items.last?.at ?? .max }
    }

    /// The parts in reverse order of their next events, so the oldest is last.
    private var parts: [Part] = []

    /// Adds the next events of a queue. The queue must have no events left here.
    mutating func add(_ items: [EventFeed.Item], of queue: String, isLast: Bool) {
        insert(Part(queue: queue, items: items.reversed(), isLast: isLast))
    }

    /// Removes the oldest event. Also returns whether the caller must add further events of its queue now; nil = all
    /// events were returned.
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
