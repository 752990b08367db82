import NIOCore
import NIOTLS

/// Writes commands and matches replies to them by order. Does not reconnect.
///
/// Sendable because every method but `init` runs on the channel's event loop (asserted), which owns all of its state.
final class CommandHandler: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// A written call whose reply is awaited.
    struct Pending {
        var submission: Submission
        var queue: CommandQueue?
    }

    let endpoint: String
    private let eventLoop: any EventLoop
    private let reader: ReplyReader
    private var context: ChannelHandlerContext?
    private var out = WriteBuffer()
    private var pending = CircularBuffer<Pending>()
    /// Replies so far to the first pending call, when that is a pipeline.
    private var parts: [RedisValue] = []
    private var deadlineTimer: Scheduled<Void>?
    private var timerDeadline: NIODeadline = .distantFuture
    private var released = ReleasedRoom()
    private var recovery = ScriptRecovery()
    /// Why the server did not take a script, by name.
    private var refusedScripts: [String: RedisError] = [:]
    private var isRetired = false
    /// Set once, when the connection is given up.
    private(set) var failure: RedisError?
    /// If set, replies are not matched to commands but passed to this closure (pub/sub).
    private var push: ((RedisValue) -> Void)?
    /// The last reply, if it was an error. If the server then ends the connection, this is the reason.
    private(set) var lastWords: RedisServerError?
    /// Describes the server for TLS errors; nil without TLS.
    var peer: (() -> TLSPeer)?
    /// Called when the TLS handshake is over.
    var onSecured: (() -> Void)?
    /// Called for an error reply that means "not this server".
    var onRefusal: ((RedisServerError) -> Void)?

    init(endpoint: String, eventLoop: any EventLoop, limits: ReplyLimits) {
        self.endpoint = endpoint
        self.eventLoop = eventLoop
        reader = ReplyReader(limits: limits)
    }

    // MARK: Writing

    /// Adds a call to the write buffer; `flush` sends it.
    func perform(_ submission: Submission, from queue: CommandQueue?) {
        eventLoop.assertInEventLoop()
        if let failure {
            release(submission, queue)
            return submission.sink.fail(notSent(failure))
        }
        let call = Pending(submission: submission, queue: queue)
        if recovery.holds(call) { return }
        write(call)
    }

    func flush() {
        releaseRoom()
        guard let context, let full = out.take(context.channel.allocator) else { return }
        context.writeAndFlush(wrapOutboundOut(full), promise: nil)
    }

    /// Accepts no more calls, waits for the pending replies, then closes.
    func retire() {
        isRetired = true
        closeIfDone()
    }

    /// Passes each later reply to this closure. Call this only without pending commands.
    func startPush(_ push: @escaping (RedisValue) -> Void) { self.push = push }

    /// Sends without expecting a matched reply; for pub/sub.
    func writeUnmatched(_ command: RedisCommand) {
        out.append(command.arguments)
        flush()
    }

    private func write(_ call: Pending) {
        switch call.submission.payload {
        case .command(let command): out.append(command.arguments)
        case .pipeline(let commands): for command in commands { out.append(command.arguments) }
        case .script(let script): out.append(script)
        }
        pending.append(call)
        watch(call.submission.deadline)
    }

    // MARK: Reading

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let buffer = unwrapInboundIn(data)
        guard failure == nil else { return }
        do {
            try buffer.withUnsafeReadableBytes { bytes throws(RedisError) in
                try reader.feed(bytes) { receive($0) }
            }
        } catch {
            giveUp(error)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        flush()
        closeIfDone()
        context.fireChannelReadComplete()
    }

    private func receive(_ value: RedisValue) {
        if failure != nil { return }
        if let push { return push(value) }
        if value.error != nil || lastWords != nil { lastWords = value.error }
        guard !pending.isEmpty else {
            // A server at its limit of connections sends an error before any command.
            if let lastWords { return giveUp(RedisError(server: lastWords)) }
            return giveUp(RedisError(.protocolViolation, "Redis sent a reply to no command"))
        }
        if case .error(let error) = value, error.code.demandsReconnect { onRefusal?(error) }
        if case .pipeline(let commands) = pending[pending.startIndex].submission.payload {
            receivePart(value, of: commands.count)
        } else {
            receiveWhole(value, pending.removeFirst())
        }
        if recovery.countReply() { resendRefusedScripts() }
    }

    private func receivePart(_ value: RedisValue, of count: Int) {
        parts.append(value)
        guard parts.count == count else { return }
        let values = parts
        parts = []
        let call = pending.removeFirst()
        release(call.submission, call.queue)
        call.submission.sink.succeed(all: values)
    }

    private func receiveWhole(_ value: RedisValue, _ call: Pending) {
        if value.error?.code == .noScript {
            if let refusal = refusal(of: call) {
                release(call.submission, call.queue)
                return call.submission.sink.fail(refusal)
            }
            if recovery.takes(call, scriptsBehind: scriptsInFlight) { return }
        }
        release(call.submission, call.queue)
        call.submission.sink.succeed(value, endpoint: endpoint)
    }

    // MARK: Scripts unknown to the server

    /// Entries up to and including the last script that is in flight.
    private func scriptsInFlight() -> Int {
        let last = pending.lastIndex { if case .script = $0.submission.payload { true } else { false } }
        return last.map { pending.distance(from: pending.startIndex, to: $0) + 1 } ?? 0
    }

    private func resendRefusedScripts() {
        let (refused, held) = recovery.finish()
        for script in ScriptRecovery.distinct(refused) { load(script) }
        for call in refused { write(call) }
        for call in held { write(call) }
        // The caller's channelReadComplete flushes: loads and calls leave in one write.
    }

    private func load(_ script: RedisScript) {
        let sink = Submission.Sink.callback { result in
            if case .failure(let error) = result {
                self.refusedScripts[script.name] = error
            } else {
                self.refusedScripts[script.name] = nil
            }
        }
        write(
            Pending(
                submission: Submission(
                    payload: .command(script.loadCommand),
                    sink: sink,
                    deadline: .distantFuture
                )
            )
        )
    }

    /// Why the server did not load the script of this call.
    private func refusal(of call: Pending) -> RedisError? {
        guard case .script(let script) = call.submission.payload, script.refusals > 0 else { return nil }
        return refusedScripts[script.script.name]
    }

    // MARK: Deadlines

    private func watch(_ deadline: NIODeadline) {
        guard deadline < timerDeadline else { return }
        deadlineTimer?.cancel()
        timerDeadline = deadline
        deadlineTimer = eventLoop.scheduleTask(deadline: deadline) { self.checkDeadlines() }
    }

    private func checkDeadlines() {
        timerDeadline = .distantFuture
        let now = NIODeadline.now()
        let calls = Array(pending) + recovery.calls
        guard let earliest = calls.map(\.submission.deadline).min() else { return }
        guard earliest <= now else { return watch(earliest) }
        giveUp(RedisError(.timeout, "Redis did not answer within the deadline", outcomeIsUnknown: true))
    }

    // MARK: The end

    func channelInactive(context: ChannelHandlerContext) {
        giveUp(RedisError(.closed, "the connection to Redis was closed"))
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        giveUp(ConnectFailure.describe(error, during: .use, peer: peer?()))
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted? = event as? TLSUserEvent { onSecured?() }
        context.fireUserInboundEventTriggered(event)
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        giveUp(RedisError(.closed, "the connection to Redis was closed"))
        self.context = nil
    }

    /// Ends the connection for this reason and fails all written, unanswered calls. After a missing reply, later
    /// replies cannot be matched, so the connection is not used again.
    func giveUp(_ error: RedisError) {
        guard failure == nil else { return }
        var error = error
        error.endpoint = error.endpoint ?? endpoint
        failure = error
        deadlineTimer?.cancel()
        let calls = Array(pending)
        let unsent = recovery.calls
        pending.removeAll()
        recovery = ScriptRecovery()
        let now = NIODeadline.now()
        for call in calls {
            release(call.submission, call.queue)
            call.submission.sink.fail(lost(error, isLate: call.submission.deadline <= now))
        }
        for call in unsent {
            release(call.submission, call.queue)
            call.submission.sink.fail(notSent(error))
        }
        releaseRoom()
        push = nil
        context?.close(promise: nil)
    }

    private func closeIfDone() {
        guard isRetired, pending.isEmpty, recovery.calls.isEmpty, failure == nil else { return }
        giveUp(RedisError(.closed, "the connection was replaced by a new one"))
    }

    /// The error of a written call: its own missed deadline, or the end of the connection.
    private func lost(_ error: RedisError, isLate: Bool) -> RedisError {
        var lost = error
        if error.code == .timeout, !isLate {
            lost = RedisError(
                .closed,
                "the connection was closed because another command missed its deadline",
                cause: error,
                endpoint: endpoint
            )
        }
        lost.outcomeIsUnknown = true
        return lost
    }

    /// The error of a call that was never sent.
    func notSent(_ error: RedisError) -> RedisError {
        RedisError(.closed, "not sent: \(error.message)", cause: error, endpoint: endpoint)
    }

    // MARK: Room

    private func release(_ submission: Submission, _ queue: CommandQueue?) {
        guard let queue else { return }
        if let (full, room) = released.add(submission, queue) {
            full.release(commands: room.commands, bytes: room.bytes)
        }
    }

    private func releaseRoom() {
        if let (queue, room) = released.take() { queue.release(commands: room.commands, bytes: room.bytes) }
    }
}
