/// Cuts operations into calls of at most `Defaults.batch` and 256 KiB, so that no call keeps the server busy for long.
package struct EnqueueBatches: Sequence, IteratorProtocol {
    package static let maximumBytes = 1 << 18
    private var rest: ArraySlice<NewOperation>

    package init(_ operations: [NewOperation]) { rest = operations[...] }

    package mutating func next() -> ArraySlice<NewOperation>? {
        guard !rest.isEmpty else { return nil }
        var bytes = 0
        var end = rest.startIndex
        while end < rest.endIndex, end - rest.startIndex < Defaults.batch {
            bytes += rest[end].elementByteCount
            if bytes > Self.maximumBytes, end > rest.startIndex { break }
            end += 1
        }
        defer { rest = rest[end...] }
        return rest[..<end]
    }
}

extension Broker {
    package func enqueueAll(
        _ operations: [NewOperation],
        queue: String,
        progress: (Int) -> Void
    ) async throws -> [EnqueueOutcome] {
        var outcomes: [EnqueueOutcome] = []
        outcomes.reserveCapacity(operations.count)
        for batch in EnqueueBatches(operations) {
            outcomes += try await enqueue(Array(batch), queue: queue)
            progress(outcomes.count)
        }
        return outcomes
    }
}
