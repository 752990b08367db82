import Synchronization

/// Counts activities in progress.
public final class Gauge: Sendable {
    private struct State {
        var now = 0
        var most = 0
        var total = 0
    }

    private let state = Mutex(State())

    public init() {}

    /// The most activities at once.
    public var most: Int { state.withLock { $0.most } }

    /// The number of activities so far.
    public var total: Int { state.withLock { $0.total } }

    public func begin() {
        state.withLock { state in
            state.now += 1
            state.total += 1
            state.most = max(state.most, state.now)
        }
    }

    public func end() { state.withLock { $0.now -= 1 } }
}
