import NIOCore
import Synchronization

/// The bounded queue from any thread to the event loop that writes. The queue outlives connections. Without a writer,
/// submissions stay here in their order until their deadlines.
final class CommandQueue: Sendable {
    struct Limits: Sendable {
        var commands: Int
        var bytes: Int
    }

    private struct State {
        /// Admitted, not yet passed to a writer.
        var admitted: [Submission] = []
        /// Submissions beyond the bounds, in the order of arrival.
        var waiting = CircularBuffer<Submission>()
        /// Admitted or unanswered.
        var commands = 0
        var bytes = 0
        /// No submission held here has an earlier deadline.
        var earliest: NIODeadline = .distantFuture
        var pumpScheduled = false
        var closed: RedisError?
    }

    /// The receiver of admitted submissions.
    enum Writer {
        case connection(CommandHandler)
        case cluster(ClusterRouter)
    }

    /// Used on the event loop only.
    private struct LoopState {
        var writer: Writer?
        var expiry: Scheduled<Void>?
        var expiryDeadline: NIODeadline = .distantFuture
        /// Makes the error of a submission that waited here until its deadline.
        var absence: @Sendable () -> RedisError = { RedisError(.unreachable, "no connection to Redis") }
        /// Called once, with the first submission.
        var onFirstUse: (@Sendable () -> Void)?
    }

    let eventLoop: any EventLoop
    private let limits: Limits
    private let state = Mutex(State())
    private let loop: NIOLoopBoundBox<LoopState>

    init(eventLoop: any EventLoop, limits: Limits) {
        self.eventLoop = eventLoop
        self.limits = limits
        loop = NIOLoopBoundBox.makeBoxSendingValue(LoopState(), eventLoop: eventLoop)
    }

    // MARK: Any thread

    /// Accepts a submission, or fails its sink.
    /// - Parameter mayWait: beyond the bounds, wait for room (until the deadline) instead of failing as overloaded.
    func enqueue(_ submission: Submission, mayWait: Bool) {
        enum Verdict {
            case refused(RedisError)
            case taken(needsPump: Bool)
        }
        let verdict: Verdict = state.withLock { state in
            if let error = state.closed { return .refused(error) }
            if state.waiting.isEmpty, hasRoom(state, for: submission) {
                admit(submission, &state)
            } else if mayWait {
                state.waiting.append(submission)
            } else {
                return .refused(Self.overloaded(state))
            }
            state.earliest = min(state.earliest, submission.deadline)
            defer { state.pumpScheduled = true }
            return .taken(needsPump: !state.pumpScheduled)
        }
        switch verdict {
        case .refused(let error): submission.sink.fail(error)
        case .taken(needsPump: true): eventLoop.execute { self.pump() }
        case .taken(needsPump: false): break
        }
    }

    /// Ends the queue: all held and all later submissions fail with this error.
    func close(_ error: RedisError) {
        let held = state.withLock { state in
            state.closed = state.closed ?? error
            defer {
                state.admitted = []
                state.waiting = CircularBuffer()
            }
            return state.admitted + state.waiting
        }
        for submission in held { submission.sink.fail(error) }
    }

    private func hasRoom(_ state: State, for submission: Submission) -> Bool {
        // A command larger than the bound passes if nothing else is pending.
        state.commands == 0
            || (state.commands < limits.commands && state.bytes + submission.weight <= limits.bytes)
    }

    private func admit(_ submission: Submission, _ state: inout State) {
        state.admitted.append(submission)
        state.commands += submission.replyCount
        state.bytes += submission.weight
    }

    private static func overloaded(_ state: State) -> RedisError {
        RedisError(.overloaded, "\(state.commands) commands (\(state.bytes) bytes) are pending already")
    }

    // MARK: Event loop

    func attach(_ writer: Writer) {
        loop.value.writer = writer
        pump()
    }

    func detach() { loop.value.writer = nil }

    func explainAbsence(_ explanation: @escaping @Sendable () -> RedisError) { loop.value.absence = explanation }

    /// Calls a closure with the first submission. Called before there is one.
    func onFirstUse(_ action: @escaping @Sendable () -> Void) { loop.value.onFirstUse = action }

    /// Passes all admitted submissions to the writer, in order, as one write. Watches their deadlines if no writer is
    /// attached.
    func pump() {
        switch loop.value.writer {
        // A failed connection is about to be detached. Later submissions go to the next one.
        case .connection(let handler)? where handler.failure == nil:
            for submission in take() { handler.perform(submission, from: self) }
            handler.flush()
        case .cluster(let router)?:
            for submission in take() { router.perform(submission, from: self) }
        default:
            state.withLock { $0.pumpScheduled = false }
            loop.value.onFirstUse?()
            loop.value.onFirstUse = nil
        }
        armExpiry()
    }

    /// Frees the room of answered or failed submissions.
    func release(commands: Int, bytes: Int) {
        let admittedMore = state.withLock { state in
            state.commands -= commands
            state.bytes -= bytes
            let before = state.admitted.count
            while let next = state.waiting.first, hasRoom(state, for: next) {
                admit(state.waiting.removeFirst(), &state)
            }
            guard state.admitted.count > before, !state.pumpScheduled else { return false }
            state.pumpScheduled = true
            return true
        }
        if admittedMore { eventLoop.execute { self.pump() } }
    }

    /// Fails all held submissions, but stays open.
    func failHeld(_ error: RedisError) {
        expire(before: .distantFuture, because: error)
    }

    private func take() -> [Submission] {
        state.withLock { state in
            state.pumpScheduled = false
            defer { state.admitted = [] }
            if state.waiting.isEmpty { state.earliest = .distantFuture }
            return state.admitted
        }
    }

    private func armExpiry() {
        let earliest = state.withLock { $0.admitted.isEmpty && $0.waiting.isEmpty ? .distantFuture : $0.earliest }
        guard earliest < loop.value.expiryDeadline else { return }
        loop.value.expiry?.cancel()
        loop.value.expiryDeadline = earliest
        loop.value.expiry = eventLoop.scheduleTask(deadline: earliest) {
            self.loop.value.expiryDeadline = .distantFuture
            self.expire(before: .now(), because: nil)
            self.armExpiry()
        }
    }

    /// Fails held submissions with a deadline up to this instant.
    private func expire(before now: NIODeadline, because error: RedisError?) {
        let isConnected = loop.value.writer != nil
        let late = state.withLock { state in
            var late: [Submission] = []
            let admitted = state.admitted
            state.admitted = []
            for submission in admitted {
                guard submission.deadline <= now else {
                    state.admitted.append(submission)
                    continue
                }
                state.commands -= submission.replyCount
                state.bytes -= submission.weight
                late.append(submission)
            }
            late += state.waiting.filter { $0.deadline <= now }
            state.waiting.removeAll { $0.deadline <= now }
            state.earliest =
                (state.admitted.map(\.deadline) + state.waiting.map(\.deadline)).min() ?? .distantFuture
            return late
        }
        guard !late.isEmpty else { return }
        let reason = error ?? (isConnected ? state.withLock { Self.overloaded($0) } : loop.value.absence())
        for submission in late { submission.sink.fail(reason) }
    }
}
