import Synchronization

/// What happened, in order, and how much of it at once.
final class Journal: Sendable {
    private struct State {
        var entries: [String] = []
        var now = 0
        var most = 0
    }

    private let state = Mutex(State())

    var entries: [String] { state.withLock { $0.entries } }
    var mostAtOnce: Int { state.withLock { $0.most } }

    func note(_ entry: String) { state.withLock { $0.entries.append(entry) } }

    func begin(_ name: String) {
        state.withLock { state in
            state.entries.append("begin \(name)")
            state.now += 1
            state.most = max(state.most, state.now)
        }
    }

    func end(_ name: String) {
        state.withLock { state in
            state.entries.append("end \(name)")
            state.now -= 1
        }
    }

    /// Whether everything that one entry needs was there before it.
    func has(_ entry: String, after earlier: [String]) -> Bool {
        let entries = entries
        guard let index = entries.firstIndex(of: entry) else { return false }
        return earlier.allSatisfy { entries[..<index].contains($0) }
    }
}
