import Operations

/// Spells every key and channel that Swift uses. Scripts build a queue's other keys from the prefix of its meta key.
struct Keys: Sendable {
    let namespace: String
    /// The number of the database that has the keys.
    var database = 0

    /// The names of the namespace's queues. In a cluster, this key has another slot than the queues' keys.
    var queues: String { "\(namespace):queues" }

    /// The number of the namespace's protocol. In a cluster, this key has the slot of `queues`.
    var protocolNumber: String { "{\(queues)}:protocol" }

    /// The changes of many operations. In a cluster, this key has the slot of `queues`.
    var changes: String { "{\(queues)}:changes:meta" }

    /// The start of every key and channel of a queue. The hash tag puts all keys of the queue into one slot of a
    /// cluster.
    func prefix(_ queue: String) -> String { "{\(namespace)/\(queue)}:" }

    /// The first key of every script call.
    func meta(_ queue: String) -> String { prefix(queue) + "meta" }

    func totals(_ queue: String) -> String { prefix(queue) + "totals" }
    func lane(_ queue: String, _ number: String) -> String { prefix(queue) + "lane:\(number)" }
    func wake(_ queue: String) -> String { prefix(queue) + "wake" }
    func cancelling(_ queue: String, _ worker: WorkerID) -> String { prefix(queue) + "cancelling:\(worker)" }

    // Channels

    /// The start of a queue's channels, with the number of the database. All databases of a server share one set of
    /// channels.
    ///
    /// Scripts get this as a second key, because they cannot ask for the number of the database. In database 0 they do
    /// not need it.
    ///
    /// In a cluster, scripts always get it. No key has this name. While a slot moves to another node and a queue's keys
    /// are on both nodes, Redis therefore refuses the whole call (TRYAGAIN) before the script starts. With the meta key
    /// alone, the script would start and fail at the first key that is missing.
    func channels(_ queue: String) -> String { prefix(queue) + "db\(database):" }

    func events(_ queue: String) -> String { channels(queue) + "events" }
    func control(_ queue: String) -> String { channels(queue) + "control" }
    func control(_ queue: String, _ worker: WorkerID) -> String { channels(queue) + "control:\(worker)" }
    func waiter(_ queue: String, _ waiter: String) -> String { channels(queue) + "waiter:\(waiter)" }

    /// The queue that a key or channel belongs to; nil if the name is not of this namespace.
    func queue(of key: String) -> String? {
        guard key.hasPrefix("{\(namespace)/"), let end = key.firstIndex(of: "}") else { return nil }
        return String(key[key.index(key.startIndex, offsetBy: namespace.count + 2)..<end])
    }

    /// A pattern for SCAN that matches every key of the namespace's queues.
    var pattern: String { "{\(namespace)/*}:*" }

    /// A pattern for access rules that matches all keys and channels of the namespace's queues.
    var prefixPattern: String { "{\(namespace)/*" }

    private static let kindsOfQueue: Set = [
        "meta", "totals", "wake", "leases", "scheduled", "retrying", "blocked", "expiring", "batches", "intents",
        "awaited", "numbers", "stream", "unhandled", "clock", "lane", "ended", "worker", "calls", "lost", "statistics",
        "builds",
        "standing", "schedules", "full", "unique", "fresh", "behind", "keyed", "keyNames", "next", "running",
        "keyLimits", "keyBuckets", "outbox", "outboxes", "asking",
    ]

    /// The names of a queue's keys without their prefix. The keys of the records themselves are ids and not included.
    static let kinds = kindsOfQueue.union([
        "x", "errors", "log", "needs", "inputs", "dependents", "remote", "inflight", "cancelling", "batch",
    ])

    /// Returns the queue and the kind of a key; nil for a key outside of this namespace.
    func classify(_ key: String) -> (queue: String, kind: KeyAudit.Key.Kind)? {
        guard let queue = queue(of: key), key.hasPrefix(prefix(queue)) else { return nil }
        let name = key.dropFirst(prefix(queue).count)
        // A record's key is the id alone.
        if OperationID(String(name)) != nil { return (queue, .operation(id: String(name))) }
        let parts = name.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let about = parts.count == 2 ? parts[1] : ""
        let kind: KeyAudit.Key.Kind =
            switch parts[0] {
            case "x", "errors", "log", "needs", "inputs", "dependents", "remote": .operation(id: about)
            case "inflight": .inFlight(worker: about)
            case "cancelling": .cancelRequests(worker: about)
            case "batch": .batch(number: String(about.prefix { $0 != ":" }))
            case let kind where Self.kindsOfQueue.contains(kind): .queue
            default: .unknown
            }
        return (queue, kind)
    }
}
