import Synchronization

/// Lets one task sleep until something has changed. If no task waits, the signal is not lost: the next wait returns at
/// once. A signal does not say what has changed, so the woken task looks again.
final class Signal: Sendable {
    private struct State {
        var isRaised = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    /// Wakes the waiting task, or the next one to wait. Callable from any thread.
    func raise() {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            defer { state.waiter = nil }
            if state.waiter == nil { state.isRaised = true }
            return state.waiter
        }
        waiter?.resume()
    }

    /// Waits until the signal is raised or the task is cancelled.
    func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let goesOn = state.withLock { state -> Bool in
                    precondition(state.waiter == nil, "a signal has one waiter")
                    if state.isRaised || Task.isCancelled {
                        state.isRaised = false
                        return true
                    }
                    state.waiter = continuation
                    return false
                }
                if goesOn { continuation.resume() }
            }
        } onCancel: {
            raise()
        }
    }

    /// Waits until the signal is raised, the task is cancelled, or the instant has come.
    func wait(until deadline: ContinuousClock.Instant) async {
        let timer = Task {
            try await Task.sleep(until: deadline, clock: .continuous)
            raise()
        }
        defer { timer.cancel() }
        await wait()
    }
}
