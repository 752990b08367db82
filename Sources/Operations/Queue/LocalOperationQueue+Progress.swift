/// The progress of a queue, counted in operations.
public struct LocalQueueProgress: Sendable, Equatable {
    /// The number of operations that have ended, in any state.
    public let completed: Int
    /// The number of operations that were added, including ended ones.
    public let total: Int

    /// The part that has ended, 0 to 1; 1 for a queue without operations.
    public var fraction: Double { total == 0 ? 1 : Double(completed) / Double(total) }

    /// Returns the progress of one batch: operations that had not ended at an earlier moment, or were added since.
    ///
    /// - Parameters:
    ///   - earlier: the queue's progress before the batch.
    ///   - expected: the size of the batch if its operations are added one by one; the total is at least this.
    /// - Returns: the progress of the batch.
    public func since(_ earlier: LocalQueueProgress, expecting expected: Int = 0) -> LocalQueueProgress {
        LocalQueueProgress(completed: completed - earlier.completed, total: max(expected, total - earlier.completed))
    }
}

extension LocalOperationQueue {
    /// The progress of all operations that were ever added. The cost does not depend on their number.
    public var progress: LocalQueueProgress { core.scheduler.withLock { $0.progress } }

    /// A stream of the current progress, and of the new progress whenever an operation is added or ends. A slow reader
    /// gets the newest value and misses those in between. The stream ends when the queue is released.
    public var progressChanges: AsyncStream<LocalQueueProgress> {
        let number = WaiterNumber.next()
        let (stream, continuation) = AsyncStream.makeStream(
            of: LocalQueueProgress.self,
            bufferingPolicy: .bufferingNewest(1)
        )
        continuation.onTermination = { [weak core] _ in
            _ = core?.scheduler.withLock { $0.progressStreams.removeValue(forKey: number) }
        }
        core.scheduler.withLock { scheduler in
            continuation.yield(scheduler.progress)
            scheduler.progressStreams[number] = continuation
        }
        return stream
    }
}

extension Scheduler {
    var progress: LocalQueueProgress { LocalQueueProgress(completed: Int(sequence) - count, total: Int(sequence)) }

    func tellProgress() {
        guard !progressStreams.isEmpty else { return }
        for stream in progressStreams.values { stream.yield(progress) }
    }
}
