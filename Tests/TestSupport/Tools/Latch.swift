import Dispatch
import Synchronization

/// A latch that is opened once. Tasks and threads wait until it is open.
public final class Latch: Sendable {
    private struct State {
        var isOpen = false
        var nextWaiter = 0
        var waiters: [Int: CheckedContinuation<Bool, Never>] = [:]
        var threads: [DispatchSemaphore] = []
    }

    private let state = Mutex(State())

    public init() {}

    public var isOpen: Bool { state.withLock { $0.isOpen } }

    /// - Returns: true if this call opened the latch.
    @discardableResult
    public func open() -> Bool {
        let (wasOpen, waiters, threads) = state.withLock { state in
            defer {
                state.isOpen = true
                state.waiters = [:]
                state.threads = []
            }
            return (state.isOpen, state.waiters.values, state.threads)
        }
        for waiter in waiters { waiter.resume(returning: true) }
        for thread in threads { thread.signal() }
        return !wasOpen
    }

    /// Waits until the latch is open, or the task is cancelled. With `isDeaf`, ignores the cancel.
    ///
    /// - Returns: whether the latch was open; false = the cancel came first.
    @discardableResult
    public func wait(isDeaf: Bool = false) async -> Bool {
        let number = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let result = state.withLock { state -> Bool? in
                    if state.isOpen { return true }
                    if !isDeaf && Task.isCancelled { return false }
                    state.waiters[number] = continuation
                    return nil
                }
                if let result { continuation.resume(returning: result) }
            }
        } onCancel: {
            if !isDeaf { state.withLock { $0.waiters.removeValue(forKey: number) }?.resume(returning: false) }
        }
    }

    /// Blocks the thread until the latch is open.
    public func block() {
        let semaphore = DispatchSemaphore(value: 0)
        let isOpen = state.withLock { state in
            if !state.isOpen { state.threads.append(semaphore) }
            return state.isOpen
        }
        if !isOpen { semaphore.wait() }
    }
}
