import Synchronization

/// Lets a bounded number of requests work at once, so that many open tabs and programs cannot flood Redis.
///
/// Other requests wait in the order of their arrival.
final class RequestLimit: Sendable {
    /// More requests wait than the limit allows.
    struct Busy: Error {}

    private struct State {
        var working = 0
        var waiting: [(number: Int, continuation: CheckedContinuation<Void, any Error>)] = []
        /// The number of the next request that waits.
        var next = 0
    }

    private let atOnce: Int
    private let waiting: Int
    private let state = Mutex(State())

    /// - Parameters:
    ///   - atOnce: the most requests that work at the same time.
    ///   - waiting: the most requests that wait.
    init(atOnce: Int, waiting: Int) { (self.atOnce, self.waiting) = (atOnce, waiting) }

    /// Runs the body when it is the request's turn.
    ///
    /// - Throws: `Busy` if too many requests wait; `CancellationError` if the task is cancelled while it waits; errors
    ///   of the body.
    func run<Value>(_ body: () async throws -> Value) async throws -> Value {
        try await begin()
        defer { end() }
        return try await body()
    }

    private func begin() async throws {
        let number: Int? = try state.withLock { state in
            if state.working < atOnce {
                state.working += 1
                return nil
            }
            guard state.waiting.count < waiting else { throw Busy() }
            state.next += 1
            return state.next
        }
        guard let number else { return }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isTurn = state.withLock { state in
                    if state.working < atOnce {
                        state.working += 1
                        return true
                    }
                    state.waiting.append((number, continuation))
                    return false
                }
                if isTurn { continuation.resume() } else if Task.isCancelled { leave(number) }
            }
        } onCancel: {
            leave(number)
        }
    }

    /// Gives the turn to the request that has waited the longest.
    private func end() {
        let next = state.withLock { state -> CheckedContinuation<Void, any Error>? in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst().continuation }
            state.working -= 1
            return nil
        }
        next?.resume()
    }

    /// Takes a cancelled request out of the line.
    private func leave(_ number: Int) {
        let left = state.withLock { state in
            state.waiting.firstIndex { $0.number == number }.map { state.waiting.remove(at: $0).continuation }
        }
        left?.resume(throwing: CancellationError())
    }

    /// The number of requests that work, and that wait.
    var load: (working: Int, waiting: Int) { state.withLock { ($0.working, $0.waiting.count) } }
}
