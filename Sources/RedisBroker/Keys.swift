import Operations

/// Spells every key and channel that Swift names. The scripts build the others of a queue from the prefix of its meta key.
struct Keys: Sendable {
    let namespace: String

    /// The names of the namespace's queues. It shares no slot with them.
    var queues: String { "\(namespace):queues" }

    /// Whatever belongs to a queue begins with this, so that it lives in one slot of a cluster.
    func prefix(_ queue: String) -> String { "{\(namespace)/\(queue)}:" }

    /// The key that every script is called with.
    func meta(_ queue: String) -> String { prefix(queue) + "meta" }

    func bell(_ queue: String) -> String { prefix(queue) + "bell" }

    // Channels
    func events(_ queue: String) -> String { prefix(queue) + "events" }
    func control(_ queue: String) -> String { prefix(queue) + "control" }
    func control(_ queue: String, _ worker: WorkerID) -> String { prefix(queue) + "control:\(worker)" }
    func waiter(_ queue: String, _ waiter: String) -> String { prefix(queue) + "waiter:\(waiter)" }

    /// The queue that a key or channel of this namespace belongs to.
    func queue(of key: String) -> String? {
        guard key.hasPrefix("{\(namespace)/"), let end = key.firstIndex(of: "}") else { return nil }
        return String(key[key.index(key.startIndex, offsetBy: namespace.count + 2)..<end])
    }
}
