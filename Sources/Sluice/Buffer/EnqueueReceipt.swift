import Synchronization

/// The outcomes of one enqueue call that went through a buffer.
final class EnqueueReceipt: Sendable {
    private struct State {
        var outcomes: [Result<EnqueueOutcome, OperationsError>?]
        var open: Int
        /// True until the enqueue returns. The caller does not know yet that operations are buffered, so the enqueue
        /// may still throw.
        var isAwaited = true
        var lastWaiter = 0
        var waiters: [Int: CheckedContinuation<Bool, Never>] = [:]
        /// Numbers of waits that timed out or were cancelled before they began.
        var dismissed: Set<Int> = []
    }

    private let state: Mutex<State>

    init(count: Int) { state = Mutex(State(outcomes: Array(repeating: nil, count: count), open: count)) }

    /// The outcome of an operation; nil if it is not known yet.
    func outcome(_ index: Int) -> Result<EnqueueOutcome, OperationsError>? { state.withLock { $0.outcomes[index] } }

    func settle(_ index: Int, _ outcome: Result<EnqueueOutcome, OperationsError>) {
        let waiters = state.withLock { Self.settle(index, outcome, in: &$0) }
        for waiter in waiters { waiter.resume(returning: true) }
    }

    /// Settles an operation as refused if its enqueue can still throw the error.
    ///
    /// - Returns: false if the enqueue has returned, so the operation stays.
    func refuse(_ index: Int, _ error: OperationsError) -> Bool {
        let waiters = state.withLock { $0.isAwaited ? Self.settle(index, .failure(error), in: &$0) : nil }
        for waiter in waiters ?? [] { waiter.resume(returning: true) }
        return waiters != nil
    }

    /// - Returns: the waiters to resume, if this was the last outcome.
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

    /// Ends the enqueue: from now on its operations count as buffered or stored.
    ///
    /// - Returns: the first refusal; nil if Redis refused none of them.
    func close() -> OperationsError? {
        state.withLock { state in
            state.isAwaited = false
            for case .failure(let error)? in state.outcomes { return error }
            return nil
        }
    }

    /// Waits until all outcomes are known.
    ///
    /// - Parameter patience: the longest wait; nil = no limit.
    /// - Returns: false if the time ran out or the task was cancelled first.
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
