import Synchronization
import TestSupport
import Testing

/// Each of these tests runs several processes, and some look at the time: only four tests run at once.
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
        let start = ContinuousClock.now
        let outcome = await result(of: function)
        Self.places.free()
        // The time that Swift Testing prints includes the wait for a place.
        print("ran for \(ContinuousClock.now - start): \(test.displayName ?? test.name)")
        await expectNothingRefused()
        try outcome.get()
    }
}

/// The permissions that `config acl` prints suffice: if tests run as these users, ACL LOG is empty after each test.
///
/// An entry may belong to another test that runs at the same time. Each entry names the command or key and the
/// connection.
struct NothingRefused: SuiteTrait, TestTrait, TestScoping {
    var isRecursive: Bool { true }

    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        let outcome = await result(of: function)
        if testCase != nil { await expectNothingRefused() }
        try outcome.get()
    }
}

private func result(of test: () async throws -> Void) async -> Result<Void, any Error> {
    do { return .success(try await test()) } catch { return .failure(error) }
}

private func expectNothingRefused() async {
    guard TestUsers.areOn else { return }
    for refusal in await TestUsers.refusals() { Issue.record("ACL LOG: \(refusal)") }
}

extension Trait where Self == NothingRefused {
    /// Redis may refuse nothing to the users with minimal permissions.
    static var nothingRefused: NothingRefused { NothingRefused() }
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
