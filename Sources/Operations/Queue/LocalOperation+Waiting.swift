import Synchronization

extension LocalOperation {
    /// Waits for the end, without holding a thread. For those who wait when the end comes, this returns after the hooks have run.
    ///
    /// - Returns: the state in which it ended: `finished`, `dead` or `cancelled`.
    /// - Throws: `CancellationError` if the waiting task is cancelled. The operation goes on.
    @discardableResult
    public func waitUntilFinished() async throws -> OperationState {
        let number = WaiterNumber.next()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { register($0, number: number, evenIfCancelled: false) }
        } onCancel: {
            let waiter = locked { _ in annex?.waiters.removeValue(forKey: number) }
            waiter?.resume(throwing: CancellationError())
        }
    }

    /// Waits for the end, whatever happens to the waiting task.
    func waitIgnoringCancellation() async -> OperationState {
        do {
            return try await withCheckedThrowingContinuation {
                register($0, number: WaiterNumber.next(), evenIfCancelled: true)
            }
        } catch {
            preconditionFailure("only a cancelled wait throws, and this one is never cancelled")
        }
    }

    /// Adds a hook for the end. Hooks run once, in the order in which they were added, outside of all locks: on the operation's slot,
    /// before it takes up the next operation, or in a task of their own if the operation ended without having run. So they should be
    /// short. After the end the hook runs at once.
    ///
    /// - Parameter hook: takes the way in which the operation ended.
    public func onEnd(_ hook: @escaping @Sendable (LocalOperationEnding) -> Void) {
        let hasEnded = locked { _ -> Bool in
            guard !guardedState.isTerminal else { return true }
            orMakeAnnex.hooks.append(hook)
            return false
        }
        if hasEnded { hook(ending) }
    }

    /// Adds a hook for death: the body threw and no further attempt follows, or its time limit passed. See `onEnd`.
    ///
    /// - Parameter hook: takes the error.
    public func onDeath(_ hook: @escaping @Sendable (any Error) -> Void) {
        onEnd { ending in
            if ending.state == .dead { hook(ending.error ?? OperationsError(.dead, "the operation is dead")) }
        }
    }

    /// Every change from now on, without a gap: first the present state, last the terminal one, after which the stream ends.
    public var changes: AsyncStream<LocalOperationChange> {
        let number = WaiterNumber.next()
        let (stream, continuation) = AsyncStream.makeStream(of: LocalOperationChange.self)
        continuation.onTermination = { [weak self] _ in self?.forgetStream(number) }
        let hasEnded = locked { _ -> Bool in
            continuation.yield(LocalOperationChange(operation: self, kind: .state(guardedState)))
            guard !guardedState.isTerminal else { return true }
            orMakeAnnex.streams[number] = continuation
            return false
        }
        if hasEnded { continuation.finish() }
        return stream
    }

    private func forgetStream(_ number: UInt64) {
        // Let go outside of the lock: it may hold changes that were not read.
        let stream = locked { _ in annex?.streams.removeValue(forKey: number) }
        _ = stream
    }

    /// How far its work is, as its body said last; nil before it said so.
    public var progress: LocalOperationProgress? { locked { _ in annex?.progress } }

    /// Says how far the work is. For the body: `LocalOperation.current?.report(progress: 0.5)`.
    ///
    /// - Parameters:
    ///   - fraction: 0 to 1; others are clamped, and what is no number is ignored.
    ///   - message: a few words for people.
    public func report(progress fraction: Double, _ message: String = "") {
        guard !fraction.isNaN else { return }
        let progress = LocalOperationProgress(fraction: min(max(fraction, 0), 1), message: message)
        let context = locked { scheduler -> OperationContext? in
            guard guardedState == .executing else { return nil }
            orMakeAnnex.progress = progress
            scheduler.note(self, .progress(progress))
            return annex?.context
        }
        context?.progress(progress.fraction, message)
    }

    /// Says something for people: observers of its changes get it; in a worker it is a line of the operation's log.
    public func report(log line: String) {
        let context = locked { scheduler -> OperationContext? in
            guard guardedState == .executing else { return nil }
            scheduler.note(self, .log(line))
            return annex?.context
        }
        context?.log(line)
    }

    /// The enqueued operation that a worker runs by this one: its id, attempt, fence and checkpoint; nil in a local queue.
    public var context: OperationContext? { locked { _ in annex?.context } }

    private func register(
        _ waiter: CheckedContinuation<OperationState, any Error>,
        number: UInt64,
        evenIfCancelled: Bool
    ) {
        let answer = locked { _ -> Result<OperationState, any Error>? in
            if guardedState.isTerminal { return .success(guardedState) }
            if !evenIfCancelled, Task.isCancelled { return .failure(CancellationError()) }
            orMakeAnnex.waiters[number] = waiter
            return nil
        }
        if let answer { waiter.resume(with: answer) }
    }
}

/// Numbers that tell waiters and observers apart.
enum WaiterNumber {
    private static let last = Atomic<UInt64>(0)

    static func next() -> UInt64 { last.wrappingAdd(1, ordering: .relaxed).newValue }
}
