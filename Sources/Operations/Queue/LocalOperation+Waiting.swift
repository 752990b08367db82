import Synchronization

extension LocalOperation {
    /// Waits for the end without blocking a thread. If the operation ends during the wait, its hooks run before this
    /// returns.
    ///
    /// - Returns: the terminal state: `finished`, `dead` or `cancelled`.
    /// - Throws: `CancellationError` if the waiting task is cancelled. The operation continues.
    @discardableResult
    public func waitUntilFinished() async throws -> OperationState {
        let number = WaiterNumber.next()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { register($0, number: number, evenIfCancelled: false) }
        } onCancel: {
            let waiter = locked { _ in extras?.waiters.removeValue(forKey: number) }
            waiter?.resume(throwing: CancellationError())
        }
    }

    /// Waits for the end, even if the waiting task is cancelled.
    func waitIgnoringCancellation() async -> OperationState {
        do {
            return try await withCheckedThrowingContinuation {
                register($0, number: WaiterNumber.next(), evenIfCancelled: true)
            }
        } catch {
            preconditionFailure("only a cancelled wait throws, and this one is never cancelled")
        }
    }

    /// Adds a hook to call once when the operation has ended; calls it at once if the operation has already ended.
    ///
    /// Hooks run in the order in which they were added, outside of all locks. Each runs on the operation's slot before
    /// the next operation starts there, so keep hooks short. If the operation ended without having run, its hooks run
    /// in a task of their own.
    ///
    /// - Parameter hook: takes state, error and attempts of the ended operation.
    public func onEnd(_ hook: @escaping @Sendable (LocalOperationEnding) -> Void) {
        let hasEnded = locked { _ -> Bool in
            guard !guardedState.isTerminal else { return true }
            orMakeExtras.hooks.append(hook)
            return false
        }
        if hasEnded { hook(ending) }
    }

    /// Adds a hook to call if the operation is dead: the body threw and no attempt follows, or the time limit passed.
    /// See `onEnd`.
    ///
    /// - Parameter hook: takes the error.
    public func onDeath(_ hook: @escaping @Sendable (any Error) -> Void) {
        onEnd { ending in
            if ending.state == .dead { hook(ending.error ?? OperationsError(.dead, "the operation is dead")) }
        }
    }

    /// A stream of all changes from now on: first the current state, last the terminal one. Then the stream ends.
    public var changes: AsyncStream<LocalOperationChange> {
        let number = WaiterNumber.next()
        let (stream, continuation) = AsyncStream.makeStream(of: LocalOperationChange.self)
        continuation.onTermination = { [weak self] _ in self?.forgetStream(number) }
        let hasEnded = locked { _ -> Bool in
            continuation.yield(LocalOperationChange(operation: self, kind: .state(guardedState)))
            guard !guardedState.isTerminal else { return true }
            orMakeExtras.streams[number] = continuation
            return false
        }
        if hasEnded { continuation.finish() }
        return stream
    }

    private func forgetStream(_ number: UInt64) {
        // Release the stream outside of the lock: it may hold unread changes.
        let stream = locked { _ in extras?.streams.removeValue(forKey: number) }
        _ = stream
    }

    /// The last reported progress; nil before the first report.
    public var progress: LocalOperationProgress? { locked { _ in extras?.progress } }

    /// Reports progress. A body calls `LocalOperation.current?.report(progress: 0.5)`.
    ///
    /// - Parameters:
    ///   - fraction: 0 to 1. Other values are clamped, and NaN is ignored.
    ///   - message: a short text to show.
    public func report(progress fraction: Double, _ message: String = "") {
        guard !fraction.isNaN else { return }
        let progress = LocalOperationProgress(fraction: min(max(fraction, 0), 1), message: message)
        let context = locked { scheduler -> OperationContext? in
            guard guardedState == .executing else { return nil }
            orMakeExtras.progress = progress
            scheduler.note(self, .progress(progress))
            return extras?.context
        }
        context?.progress(progress.fraction, message)
    }

    /// Reports a line of text to the observers of `changes`. In a worker the line is added to the operation's log.
    public func report(log line: String) {
        let context = locked { scheduler -> OperationContext? in
            guard guardedState == .executing else { return nil }
            scheduler.note(self, .log(line))
            return extras?.context
        }
        context?.log(line)
    }

    /// The id, attempt, fence and checkpoint of the enqueued operation that a worker runs; nil in a local queue.
    public var context: OperationContext? { locked { _ in extras?.context } }

    private func register(
        _ waiter: CheckedContinuation<OperationState, any Error>,
        number: UInt64,
        evenIfCancelled: Bool
    ) {
        let answer = locked { _ -> Result<OperationState, any Error>? in
            if guardedState.isTerminal { return .success(guardedState) }
            if !evenIfCancelled, Task.isCancelled { return .failure(CancellationError()) }
            orMakeExtras.waiters[number] = waiter
            return nil
        }
        if let answer { waiter.resume(with: answer) }
    }
}

/// Numbers that identify waiters and observers.
enum WaiterNumber {
    private static let last = Atomic<UInt64>(0)

    static func next() -> UInt64 { last.wrappingAdd(1, ordering: .relaxed).newValue }
}
