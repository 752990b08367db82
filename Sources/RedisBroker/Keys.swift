import Operations

/// Spells every key and channel that Swift names. The scripts build the others of a queue from the prefix of its meta key.
struct Keys: Sendable {
    let namespace: String
    /// The number of the database that the keys are in.
    var database = 0

    /// The names of the namespace's queues. It shares no slot with them.
    var queues: String { "\(namespace):queues" }

    /// The number of the namespace's protocol, in the slot of the names.
    var protocolNumber: String { "{\(queues)}:protocol" }

    /// Whatever belongs to a queue begins with this, so that it lives in one slot of a cluster.
    func prefix(_ queue: String) -> String { "{\(namespace)/\(queue)}:" }

    /// The key that every script is called with.
    func meta(_ queue: String) -> String { prefix(queue) + "meta" }

    func totals(_ queue: String) -> String { prefix(queue) + "totals" }
    func lane(_ queue: String, _ number: String) -> String { prefix(queue) + "lane:\(number)" }
    func wake(_ queue: String) -> String { prefix(queue) + "wake" }
    func cancelling(_ queue: String, _ worker: WorkerID) -> String { prefix(queue) + "cancelling:\(worker)" }

    // Channels

    /// What the channels of a queue begin with. Redis has one set of channels for all its databases, so the number of the database is a
    /// part of each.
    ///
    /// Scripts are given it as a second key, because they cannot ask for the number. In database 0 they need no telling, but in a cluster
    /// they are given it all the same: no key has this name, so while a slot is on its way to another node, and some of a queue's keys are
    /// here and some there, Redis refuses the whole call (TRYAGAIN) before it has done anything. With the meta key alone, the script would
    /// begin, and fail at the first key that is not there.
    func channels(_ queue: String) -> String { prefix(queue) + "db\(database):" }

    func events(_ queue: String) -> String { channels(queue) + "events" }
    func control(_ queue: String) -> String { channels(queue) + "control" }
    func control(_ queue: String, _ worker: WorkerID) -> String { channels(queue) + "control:\(worker)" }
    func waiter(_ queue: String, _ waiter: String) -> String { channels(queue) + "waiter:\(waiter)" }

    /// The queue that a key or channel of this namespace belongs to.
    func queue(of key: String) -> String? {
        guard key.hasPrefix("{\(namespace)/"), let end = key.firstIndex(of: "}") else { return nil }
        return String(key[key.index(key.startIndex, offsetBy: namespace.count + 2)..<end])
    }

    /// A pattern for SCAN that every key of the namespace's queues matches.
    var pattern: String { "{\(namespace)/*}:*" }

    /// What keys and channels of the namespace's queues begin with, for access rules.
    var prefixPattern: String { "{\(namespace)/*" }

    private static let kindsOfQueue: Set = [
        "meta", "totals", "wake", "leases", "scheduled", "retrying", "blocked", "expiring", "batches", "intents",
        "awaited", "numbers", "stream", "unhandled", "clock", "lane", "ended", "worker", "calls", "lost", "figures",
        "standing", "schedules", "full", "unique", "fresh", "behind", "keyed", "next", "running", "keyLimits",
        "keyBuckets", "outbox", "outboxes", "asking",
    ]

    /// What the keys of a queue are called, behind their prefix; of records only what they have besides.
    static let kinds = kindsOfQueue.union([
        "x", "errors", "log", "needs", "inputs", "dependents", "remote", "inflight", "cancelling", "batch",
    ])

    /// What a key of this namespace is; nil for a key of somebody else.
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
            case "cancelling": .orders(worker: about)
            case "batch": .batch(number: String(about.prefix { $0 != ":" }))
            case let kind where Self.kindsOfQueue.contains(kind): .queue
            default: .unknown
            }
        return (queue, kind)
    }
}
