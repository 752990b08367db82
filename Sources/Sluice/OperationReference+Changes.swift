import Operations
import ServiceLifecycle

extension OperationReference {
    /// The stored status now and after every change, until the operation ends: each state and each progress.
    ///
    /// - The first element comes at once. The stream ends after a terminal state.
    /// - Every element was read from Redis. Redis notifies the client of each transition, and of progress at most four
    ///   times a second. The client also reads once a second, in case a notification was lost or more than eight
    ///   clients follow the operation. A status that is replaced before the client reads it is left out.
    /// - While Redis cannot be reached, the stream waits. While no worker runs, it continues: after five seconds, the
    ///   client's logger gets a warning. `changes(timeout:)` has a limit.
    ///
    /// The stream throws one of these errors:
    ///
    /// - `OperationsError` with `.notFound` if the operation does not exist: it is untracked, was removed or is beyond
    ///   its retention.
    /// - `CancellationError` outside of operations, if the service that reads the stream is asked to shut down.
    public var changes: AsyncThrowingStream<OperationStatus, any Error> { changes(until: nil) }

    /// The stored status now and after every change, until the operation ends or the timeout passes.
    ///
    /// The elements and errors are those of `changes`. In addition, the stream throws `OperationsError` with
    /// `.timedOut` if the operation has not ended in time. The error names the operation's state, and whether a live
    /// worker serves its queue. The operation continues, and may be followed again.
    ///
    /// - Parameter timeout: longest time until the operation ends; zero = read once. While Redis cannot be reached, the
    ///   stream may end up to five seconds later.
    /// - Returns: the stream.
    public func changes(timeout: Duration) -> AsyncThrowingStream<OperationStatus, any Error> {
        changes(until: Deadline(timeout))
    }

    private func changes(until deadline: Deadline?) -> AsyncThrowingStream<OperationStatus, any Error> {
        AsyncThrowingStream { continuation in
            let task = Task {
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
        /// The time is over, the task was cancelled, or the service shuts down.
        case stopped
    }

    private func follow(until deadline: Deadline?, _ yield: @Sendable (OperationStatus) -> Void) async -> FollowEnd {
        await client.unserved.during(waitsIn: queue) {
            let hints = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
            // Before the deadline can end the stream, so that the status is read at least once.
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
                // An operation in the client's buffer is not in Redis yet.
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

    /// Starts the tasks that trigger reads: at each hint of the broker, and once a second. The task of the deadline
    /// ends the stream.
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
