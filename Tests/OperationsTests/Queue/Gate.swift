import Operations
import Foundation

/// A gate for tasks and threads. A test opens it.
final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Guarded(State())
    private let threads = NSCondition()

    func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for waiter in waiting { waiter.resume() }
        threads.lock()
        threads.broadcast()
        threads.unlock()
    }

    func wait() async {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.waiting.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }

    /// Blocks the calling thread.
    func block() {
        threads.lock()
        while !state.withLock({ $0.isOpen }) { threads.wait() }
        threads.unlock()
    }
}

/// An ordered list of events. A waiting test resumes when its event is noted.
final class Journal: Sendable {
    private struct State {
        var entries: [String] = []
        var waiting: [(condition: @Sendable ([String]) -> Bool, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Guarded(State())

    var entries: [String] { state.withLock { $0.entries } }

    func note(_ entry: String) {
        let satisfied = state.withLock { state in
            state.entries.append(entry)
            let satisfied = state.waiting.filter { $0.condition(state.entries) }.map(\.continuation)
            state.waiting.removeAll { $0.condition(state.entries) }
            return satisfied
        }
        for waiter in satisfied { waiter.resume() }
    }

    func wait(until condition: @escaping @Sendable ([String]) -> Bool) async {
        await withCheckedContinuation { continuation in
            let holds = state.withLock { state in
                if condition(state.entries) { return true }
                state.waiting.append((condition, continuation))
                return false
            }
            if holds { continuation.resume() }
        }
    }

    func wait(for entry: String) async { await wait { $0.contains(entry) } }

    func wait(count: Int) async { await wait { $0.count >= count } }
}

/// A clock that only `advance` moves.
final class TestClock: Clock, Sendable {
    struct Instant: InstantProtocol {
        var offset: Duration
        func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        func duration(to other: Instant) -> Duration { other.offset - offset }
        static func < (left: Self, right: Self) -> Bool { left.offset < right.offset }
    }

    private struct Sleeper {
        let deadline: Instant
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var now = Instant(offset: .zero)
        var sleepers: [UUID: Sleeper] = [:]
    }

    private let state = Guarded(State())
    /// Gets an entry for each sleep on this clock: its length in seconds.
    let journal = Journal()
    var now: Instant { state.withLock { $0.now } }
    var minimumResolution: Duration { .nanoseconds(1) }

    func advance(by duration: Duration) {
        let due = state.withLock { state in
            state.now = state.now.advanced(by: duration)
            let due = state.sleepers.filter { $0.value.deadline <= state.now }
            for id in due.keys { state.sleepers[id] = nil }
            return due.values.map(\.continuation)
        }
        for sleeper in due { sleeper.resume() }
    }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        let id = UUID()
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let answer = state.withLock { state -> Result<Void, any Error>? in
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if deadline <= state.now { return .success(()) }
                    state.sleepers[id] = Sleeper(deadline: deadline, continuation: continuation)
                    return nil
                }
                if let answer { return continuation.resume(with: answer) }
                journal.note("\(now.duration(to: deadline))")
            }
        } onCancel: {
            let sleeper = state.withLock { $0.sleepers.removeValue(forKey: id) }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }
}
