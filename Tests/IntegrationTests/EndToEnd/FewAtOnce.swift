import Synchronization
import Testing

/// Each of these tests runs a handful of processes, and some of them look at the time: only so many run at once.
struct FewAtOnce: SuiteTrait, TestTrait, TestScoping {
    private static let places = Places(4)

    var isRecursive: Bool { true }

    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        await Self.places.take()
        defer { Self.places.free() }
        try await function()
    }
}

extension Trait where Self == FewAtOnce {
    /// At most four test cases of all suites with this trait run at the same time.
    static var fewAtOnce: FewAtOnce { FewAtOnce() }
}

/// A number of places, taken in the order of asking.
private final class Places: Sendable {
    private struct State {
        var free: Int
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Mutex<State>

    init(_ count: Int) { state = Mutex(State(free: count)) }

    func take() async {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                guard state.free > 0 else {
                    state.waiting.append(continuation)
                    return false
                }
                state.free -= 1
                return true
            }
            if isFree { continuation.resume() }
        }
    }

    func free() {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
            state.free += 1
            return nil
        }
        next?.resume()
    }
}
