extension OperationReference {
    /// What is stored about it, now and after every change, until it ended.
    ///
    /// The first element comes at once. Every element was read from Redis; messages only tell when to read, and a second without
    /// one leads to a read too, so nothing is missed for longer. States that follow each other faster than they are read appear
    /// as the last of them. While Redis cannot be reached the stream waits. It ends after a terminal state, or when the operation
    /// is gone.
    public var changes: AsyncStream<OperationStatus> {
        AsyncStream { continuation in
            let task = Task {
                await follow { continuation.yield($0) }
                continuation.finish()
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }

    /// Longest time between two reads of a followed operation.
    private static var rereadInterval: Duration { .seconds(1) }

    private func follow(_ yield: (OperationStatus) -> Void) async {
        let hints = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let listener = Task { await listen(hints.continuation) }
        let ticker = Task {
            while (try? await Task.sleep(for: Self.rereadInterval)) != nil { hints.continuation.yield() }
            hints.continuation.finish()
        }
        defer {
            listener.cancel()
            ticker.cancel()
        }
        var last: OperationStatus?
        hints.continuation.yield()
        for await _ in hints.stream {
            guard let found = try? await client.broker.details([id], queue: queue) else { continue }
            guard let detail = found.first.flatMap({ $0 }) else { return }
            let status = OperationStatus(detail)
            if status != last { yield(status) }
            if status.state.isTerminal { return }
            last = status
        }
    }

    /// Turns events that may concern the operation into hints: those that name it, and those that do not say whom they concern.
    private func listen(_ hints: AsyncStream<Void>.Continuation) async {
        for await batch in client.broker.events(queues: [queue])
        where batch.transitions.contains(where: { $0.id == id }) || batch.isIncomplete {
            hints.yield()
        }
    }
}

extension EventBatch {
    /// More happened than the transitions tell.
    package var isIncomplete: Bool { Int64(transitions.count) < to - from + 1 }
}
