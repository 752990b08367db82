import Dispatch
import Foundation
import Synchronization

/// Ends operations that run for too long. Uses a thread of its own, because bodies that never yield may hold every
/// thread that tasks have.
///
/// One pass: takes the deadlines that have passed and acts on them, then sleeps until the next deadline or until an
/// earlier one is set.
final class DeadlineWatch: Sendable {
    typealias Instant = ContinuousClock.Instant

    enum Step: Sendable {
        /// The attempt has reached its time limit: the body gets the request to end.
        case runTimeout
        /// The grace after the request to end is over: the worker gives up on the operation.
        case grace
    }

    private struct Entry {
        let operation: HeldOperation
        let at: Instant
        let step: Step
    }

    private struct State {
        var entries: [ObjectIdentifier: Entry] = [:]
        var wakesAt: Instant?
        var hasStarted = false
        var isStopped = false
    }

    private let state = Mutex(State())
    private let semaphore = DispatchSemaphore(value: 0)

    /// Sets an operation's deadline. The end of a grace never moves: a second request to end gives no more time.
    func set(_ operation: HeldOperation, _ step: Step, at instant: Instant) {
        let isEarlier = state.withLock { state in
            let key = ObjectIdentifier(operation)
            if let old = state.entries[key], old.step == .grace { return false }
            state.entries[key] = Entry(operation: operation, at: instant, step: step)
            return state.wakesAt.map { instant < $0 } ?? true
        }
        if isEarlier { semaphore.signal() }
    }

    func remove(_ operation: HeldOperation) {
        state.withLock { state in
            if !state.entries.isEmpty { state.entries[ObjectIdentifier(operation)] = nil }
        }
    }

    /// - Parameter act: called on the watch's thread, for each deadline that has passed.
    func start(_ act: @escaping @Sendable (HeldOperation, Step) -> Void) {
        let isFirst = state.withLock { state in
            defer { state.hasStarted = true }
            return !state.hasStarted
        }
        guard isFirst else { return }
        let thread = Thread { [self] in
            while let due = next() {
                for entry in due { act(entry.operation, entry.step) }
            }
        }
        thread.name = "sluice.deadlines"
        thread.stackSize = 512 << 10
        thread.start()
    }

    var hasStopped: Bool { state.withLock { $0.isStopped } }

    func stop() {
        state.withLock { state in
            state.isStopped = true
            state.entries = [:]
        }
        semaphore.signal()
    }

    /// Sleeps until a deadline has passed, and returns the entries; nil = the watch was stopped.
    private func next() -> [Entry]? {
        while true {
            let (due, wakesAt, isStopped) = state.withLock { state -> ([Entry], Instant?, Bool) in
                let now = Instant.now
                let due = state.entries.values.filter { $0.at <= now }
                for entry in due { state.entries[ObjectIdentifier(entry.operation)] = nil }
                state.wakesAt = due.isEmpty ? state.entries.values.map(\.at).min() : nil
                return (due, state.wakesAt, state.isStopped)
            }
            if isStopped { return nil }
            if !due.isEmpty { return due }
            wait(until: wakesAt)
        }
    }

    private func wait(until instant: Instant?) {
        guard let instant else { return semaphore.wait() }
        let nanoseconds = max(0, Int((instant - .now).inSeconds * 1e9))
        _ = semaphore.wait(timeout: .now() + .nanoseconds(nanoseconds))
    }
}
