import Synchronization

/// Counts activities in progress.
package final class Gauge: Sendable {
    private struct State {
        var now = 0
        var most = 0
        var total = 0
    }

    private let state = Mutex(State())

    package init() {}

    /// The most activities at once.
    package var most: Int { state.withLock { $0.most } }

    /// The number of activities so far.
    package var total: Int { state.withLock { $0.total } }

    package func begin() {
        state.withLock { state in
            state.now += 1
            state.total += 1
            state.most = max(state.most, state.now)
        }
    }

    package func end() { state.withLock { $0.now -= 1 } }
}
