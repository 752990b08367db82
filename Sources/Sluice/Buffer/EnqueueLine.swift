/// Buffered operations in sending order. A pure value.
struct EnqueueLine {
    typealias Instant = ContinuousClock.Instant

    struct Entry {
        var operation: NewOperation
        var queue: String
        var receipt: EnqueueReceipt
        /// The operation's index in the receipt.
        var index: Int
        /// The time from which the delay and the expiry count.
        var since: Instant
        /// True if the operation was sent and the outcome is unknown.
        var isUncertain = false
    }

    private let limits: EnqueueBuffering
    private(set) var entries: ArraySlice<Entry> = []
    private(set) var byteCount = 0
    var isEmpty: Bool { entries.isEmpty }
    var count: Int { entries.count }

    init(_ limits: EnqueueBuffering) { self.limits = limits }

    func hasRoom(for operation: NewOperation) -> Bool {
        entries.count < limits.maxOperations && byteCount + operation.elementByteCount <= limits.maxBytes
    }

    mutating func append(_ entry: Entry) {
        entries.append(entry)
        byteCount += entry.operation.elementByteCount
    }

    /// Returns the operations of the next call: the first ones that have the same queue and fit into one call.
    ///
    /// - Parameter count: the maximum number of operations.
    /// - Returns: a copy. A slice would share the storage, and every append would copy all of it.
    func head(atMost count: Int = SluiceDefaults.batch) -> [Entry] {
        guard let queue = entries.first?.queue else { return [] }
        let run = entries.prefix(count).prefix { $0.queue == queue }
        var batches = EnqueueBatches(run.map(\.operation))
        return Array(run.prefix(batches.next()?.count ?? 0))
    }

    mutating func removeHead(_ count: Int) {
        byteCount -= entries.prefix(count).reduce(0) { $0 + $1.operation.elementByteCount }
        entries = entries.dropFirst(count)
        // An empty slice would keep the storage that it was cut from.
        if entries.isEmpty { entries = [] }
    }

    mutating func noteUncertain(_ count: Int) {
        for index in entries.indices.prefix(count) { entries[index].isUncertain = true }
    }

    /// Removes those of the first `count` operations that fulfil the condition. Calls the condition once for each of
    /// the first `count` operations.
    mutating func remove(amongFirst count: Int, where condition: (Entry) -> Bool) -> [Entry] {
        var (gone, kept): ([Entry], [Entry]) = ([], [])
        for entry in entries.prefix(count) {
            if condition(entry) { gone.append(entry) } else { kept.append(entry) }
        }
        guard !gone.isEmpty else { return [] }
        byteCount -= gone.reduce(0) { $0 + $1.operation.elementByteCount }
        entries = kept + entries.dropFirst(count)
        return gone
    }
}

extension EnqueueLine.Entry {
    /// Returns the operation with the time that is left of its delay and expiry.
    func operation(at now: ContinuousClock.Instant) -> NewOperation {
        var operation = operation
        let waited = (now - since).wholeMilliseconds
        operation.delayMilliseconds = max(0, operation.delayMilliseconds - waited)
        // Zero would mean no expiry. A late operation gets 1 ms, so that it expires in Redis and people can see it.
        if operation.expiresMilliseconds > 0 {
            operation.expiresMilliseconds = max(1, operation.expiresMilliseconds - waited)
        }
        return operation
    }
}
