/// How far the work of a queue is, counted in operations.
public struct LocalQueueProgress: Sendable, Equatable {
    /// How many have ended, in whatever way.
    public let completed: Int
    /// How many have been added, those that have ended among them.
    public let total: Int

    /// 0 to 1; 1 if there is nothing to do.
    public var fraction: Double { total == 0 ? 1 : Double(completed) / Double(total) }

    /// How far the queue is with what had not ended then, and with what was added afterwards: the progress of one batch.
    ///
    /// - Parameters:
    ///   - earlier: what the queue said before the batch.
    ///   - expected: how many operations the batch has, if they are added bit by bit; the total is at least that.
    /// - Returns: the batch alone.
    public func since(_ earlier: LocalQueueProgress, expecting expected: Int = 0) -> LocalQueueProgress {
        LocalQueueProgress(completed: completed - earlier.completed, total: max(expected, total - earlier.completed))
    }
}

extension LocalOperationQueue {
    /// How many of the operations that were ever added have ended. Costs the same however many there are.
    public var progress: LocalQueueProgress { core.scheduler.withLock { $0.progress } }

    /// The progress at this moment, and again whenever an operation is added or ends. Whoever reads more slowly than that gets the newest
    /// and not all in between. Ends when the queue is released.
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
