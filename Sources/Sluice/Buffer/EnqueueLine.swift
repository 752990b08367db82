/// Operations on their way to Redis, in order. A pure value.
struct EnqueueLine {
    typealias Instant = ContinuousClock.Instant

    struct Entry {
        var operation: NewOperation
        var queue: String
        var receipt: EnqueueReceipt
        /// Its place in the receipt.
        var index: Int
        /// Since when its durations run.
        var since: Instant
        /// It was sent, and whether Redis took it is not known.
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

    /// The next call: what stands first and has the same queue.
    ///
    /// - Parameter count: at most so many.
    /// - Returns: a copy: a slice would share the storage, and every append would copy all of it.
    func head(atMost count: Int = Defaults.batch) -> [Entry] {
        guard let queue = entries.first?.queue else { return [] }
        let run = entries.prefix(count).prefix { $0.queue == queue }
        var batches = EnqueueBatches(run.map(\.operation))
        return Array(run.prefix(batches.next()?.count ?? 0))
    }

    mutating func removeHead(_ count: Int) {
        byteCount -= entries.prefix(count).reduce(0) { $0 + $1.operation.elementByteCount }
        entries = entries.dropFirst(count)
        // An empty slice lets go of what it was cut from.
        if entries.isEmpty { entries = [] }
    }

    mutating func noteUncertain(_ count: Int) {
        for index in entries.indices.prefix(count) { entries[index].isUncertain = true }
    }

    /// Takes out what fits the condition, which is asked once of each, among the first ones.
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
    /// With what is left of its durations.
    func operation(at now: ContinuousClock.Instant) -> NewOperation {
        var operation = operation
        let waited = (now - since).wholeMilliseconds
        operation.delayMilliseconds = max(0, operation.delayMilliseconds - waited)
        // Zero would be for ever: what is too late already expires in Redis, where that can be seen.
        if operation.expiresMilliseconds > 0 {
            operation.expiresMilliseconds = max(1, operation.expiresMilliseconds - waited)
        }
        return operation
    }
}
