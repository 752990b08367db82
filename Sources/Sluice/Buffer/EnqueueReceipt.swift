import Synchronization

/// What became of the operations of one enqueue call that went through a buffer.
final class EnqueueReceipt: Sendable {
    private struct State {
        var outcomes: [Result<EnqueueOutcome, OperationsError>?]
        var open: Int
        /// The enqueue has not returned: its caller does not know yet that these operations are buffered, so it may still throw.
        var isAwaited = true
        var lastWaiter = 0
        var waiters: [Int: CheckedContinuation<Bool, Never>] = [:]
        /// Those whose time was over before they began to wait.
        var dismissed: Set<Int> = []
    }

    private let state: Mutex<State>

    init(count: Int) { state = Mutex(State(outcomes: Array(repeating: nil, count: count), open: count)) }

    /// nil = it is not known yet.
    func outcome(_ index: Int) -> Result<EnqueueOutcome, OperationsError>? { state.withLock { $0.outcomes[index] } }

    func settle(_ index: Int, _ outcome: Result<EnqueueOutcome, OperationsError>) {
        let waiters = state.withLock { Self.settle(index, outcome, in: &$0) }
        for waiter in waiters { waiter.resume(returning: true) }
    }

    /// Refuses an operation whose enqueue can still throw that.
    ///
    /// - Returns: false if it was promised to be kept.
    func refuse(_ index: Int, _ error: OperationsError) -> Bool {
        let waiters = state.withLock { $0.isAwaited ? Self.settle(index, .failure(error), in: &$0) : nil }
        for waiter in waiters ?? [] { waiter.resume(returning: true) }
        return waiters != nil
    }

    /// - Returns: the waiters, if this was the last outcome.
    private static func settle(
        _ index: Int,
        _ outcome: Result<EnqueueOutcome, OperationsError>,
        in state: inout State
    ) -> [CheckedContinuation<Bool, Never>] {
        guard state.outcomes[index] == nil else { return [] }
        state.outcomes[index] = outcome
        state.open -= 1
        guard state.open == 0 else { return [] }
        defer { state.waiters = [:] }
        return Array(state.waiters.values)
    }

    /// Ends the enqueue: from now on its operations are buffered or stored.
    ///
    /// - Returns: the first refusal, if there is one.
    func close() -> OperationsError? {
        state.withLock { state in
            state.isAwaited = false
            for case .failure(let error)? in state.outcomes { return error }
            return nil
        }
    }

    /// Waits until all outcomes are known.
    ///
    /// - Returns: false if the patience (nil = without end) or the task ended before.
    @discardableResult
    func wait(atMost patience: Duration?) async -> Bool {
        let number = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        let timer = patience.map { patience in
            Task {
                try await Task.sleep(for: patience)
                dismiss(number)
            }
        }
        defer { timer?.cancel() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let known = state.withLock { state -> Bool? in
                    if state.open == 0 { return true }
                    if state.dismissed.remove(number) != nil { return false }
                    state.waiters[number] = continuation
                    return nil
                }
                if let known { continuation.resume(returning: known) }
            }
        } onCancel: {
            dismiss(number)
        }
    }

    private func dismiss(_ number: Int) {
        let waiter = state.withLock { state in
            let waiter = state.waiters.removeValue(forKey: number)
            if waiter == nil, state.open > 0 { state.dismissed.insert(number) }
            return waiter
        }
        waiter?.resume(returning: false)
    }
}
