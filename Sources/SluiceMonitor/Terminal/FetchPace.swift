import Synchronization

/// The time of the next read of Redis. Another task can bring it forward while the reading task sleeps.
final class FetchPace: Sendable {
    private struct State {
        var due: ContinuousClock.Instant
        var sleeper: Task<Void, Never>?
    }

    private let state: Mutex<State>

    init() { state = Mutex(State(due: .now)) }

    func schedule(at instant: ContinuousClock.Instant) {
        state.withLock { $0.due = instant }
    }

    /// Moves the next read to an earlier instant.
    func bringForward(to instant: ContinuousClock.Instant) {
        let sleeper = state.withLock { state -> Task<Void, Never>? in
            guard instant < state.due else { return nil }
            state.due = instant
            return state.sleeper
        }
        sleeper?.cancel()
    }

    /// Sleeps until the read is due, or the task is cancelled.
    func wait() async {
        while !Task.isCancelled {
            let sleeper = state.withLock { state -> Task<Void, Never>? in
                let due = state.due
                guard ContinuousClock.now < due else { return nil }
                let sleeper = Task<Void, Never> { try? await Task.sleep(until: due, clock: .continuous) }
                state.sleeper = sleeper
                return sleeper
            }
            guard let sleeper else { return }
            await withTaskCancellationHandler {
                await sleeper.value
            } onCancel: {
                sleeper.cancel()
            }
        }
    }
}
