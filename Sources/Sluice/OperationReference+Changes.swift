import Operations
import ServiceLifecycle

extension OperationReference {
    /// The stored status now and after every change, until the operation ends: states, and each progress.
    ///
    /// - The first element comes at once. The stream ends after a terminal state, or when the operation is gone.
    /// - Every element was read from Redis. Redis notifies the client of each transition and of each progress that a worker writes, at
    ///   most four a second. The client also reads once a second, in case a notification was lost or more than eight clients follow the
    ///   operation. A status that is replaced before the client reads it is left out.
    /// - While Redis cannot be reached, the stream waits. While no worker runs, it goes on: after five seconds, the client's logger gets a
    ///   warning. `changes(timeout:)` has a limit, and says why it ends.
    /// - Outside of operations, the stream also ends when the service that reads it is asked to shut down.
    public var changes: AsyncStream<OperationStatus> {
        AsyncStream { continuation in
            let task = Task {
                _ = await follow(until: nil) { continuation.yield($0) }
                continuation.finish()
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }

    /// The stored status now and after every change, until the operation ends or a time is over.
    ///
    /// The elements are those of `changes`. The stream ends after a terminal state. It throws `OperationsError` with `.timedOut`, saying how
    /// the operation stands and whether a live worker serves its queue, if it has not ended by then; it goes on, and may be followed
    /// again. `.notFound` means that the operation is untracked, was removed or is beyond its retention. Outside of operations, it throws
    /// `CancellationError` when the service that reads it is asked to shut down.
    ///
    /// - Parameter timeout: longest time until it ends; zero = look once. While Redis cannot be reached, the end may take up to five seconds
    ///   more.
    /// - Returns: the stream.
    public func changes(timeout: Duration) -> AsyncThrowingStream<OperationStatus, any Error> {
        AsyncThrowingStream { continuation in
            let task = Task {
                let deadline = Deadline(timeout)
                switch await follow(until: deadline, { continuation.yield($0) }) {
                case .ended: continuation.finish()
                case .gone: continuation.finish(throwing: notFound)
                case .stopped:
                    let isOver = !Task.isCancelled && deadline?.left == .zero
                    let error: any Error =
                        if let deadline, isOver { await timedOut(deadline) } else { CancellationError() }
                    continuation.finish(throwing: error)
                }
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }

    /// Longest time between two reads of a followed operation.
    private static var rereadInterval: Duration { .seconds(1) }

    private enum FollowEnd: Sendable {
        case ended, gone
        /// The time is over, the task was cancelled, or its service shuts down.
        case stopped
    }

    private func follow(until deadline: Deadline?, _ yield: @Sendable (OperationStatus) -> Void) async -> FollowEnd {
        await client.unserved.during(waitsIn: queue) {
            let hints = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
            // Before the end of the time can come, so that there is one look in any case.
            hints.continuation.yield()
            let tasks = sources(of: hints.continuation, until: deadline)
            defer { for task in tasks { task.cancel() } }
            return await withGracefulShutdownHandler {
                await read(at: hints.stream, yield)
            } onGracefulShutdown: {
                hints.continuation.finish()
            }
        }
    }

    private func read(at hints: AsyncStream<Void>, _ yield: @Sendable (OperationStatus) -> Void) async -> FollowEnd {
        var last: OperationStatus?
        for await _ in hints {
            guard let found = try? await client.broker.details([id], queue: queue) else { continue }
            guard let detail = found.first.flatMap({ $0 }) else {
                // An operation in the client's buffer comes to Redis later.
                if case .buffered = storage { continue }
                return .gone
            }
            let status = OperationStatus(detail)
            if status != last { yield(status) }
            if status.state.isTerminal { return .ended }
            last = status
        }
        return .stopped
    }

    /// Tasks that say when to read: at the broker's hints, and each second. The last task ends the stream.
    private func sources(
        of hints: AsyncStream<Void>.Continuation,
        until deadline: Deadline?
    ) -> [Task<Void, Never>] {
        let (broker, id, queue) = (client.broker, id, queue)
        var tasks = [
            Task { for await _ in broker.hints(of: id, queue: queue) { hints.yield() } },
            Task { while (try? await Task.sleep(for: Self.rereadInterval)) != nil { hints.yield() } },
        ]
        if let deadline {
            tasks.append(
                Task {
                    try? await Task.sleep(for: deadline.left)
                    hints.finish()
                }
            )
        }
        return tasks
    }
}
