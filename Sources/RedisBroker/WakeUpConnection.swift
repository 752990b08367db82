import NIOCore
import Operations
import RedisClient
import Synchronization

/// A blocking connection, for one call at a time.
final class WakeUpConnection: Sendable {
    /// The most requests to end a wait in a cluster. Further ones are useless, because the wake-up token has moved to
    /// another node.
    private static let patience = 50
    /// How late Redis may answer after the timeout of a wait.
    private static let delay: Duration = .seconds(5)
    private let connections: ConnectionFactory
    private let keys: Keys
    private let commands: RedisLink
    private let link = Mutex<RedisLink?>(nil)
    /// The server's number for the blocking connection, which CLIENT UNBLOCK needs.
    private let clientID = Atomic<Int>(0)

    init(_ connections: ConnectionFactory, keys: Keys, commands: RedisLink) {
        self.connections = connections
        self.keys = keys
        self.commands = commands
    }

    /// See ``WakeUpTokens/wait(queues:timeout:)``.
    func wait(_ queues: [String], _ timeout: Duration) async throws -> String? {
        try Task.checkCancellation()
        guard let first = queues.first else { return nil }
        let connection = open()
        do {
            let reply = try await untilCancelled(near: first) {
                try await connection.send(pop(queues, timeout), deadline: timeout + Self.delay)
            }
            if let key = reply.array?.first?.string { return keys.queue(of: key) }
        } catch let error as RedisError where error.isOfConnection {
            // The link comes back by itself; the next call waits for it.
        }
        try Task.checkCancellation()
        return nil
    }

    struct Answer {
        /// Whether the wait took the token.
        var wasWoken: Bool
        /// The reply of the script.
        var reply: RedisValue
    }

    /// Waits for the wake-up token of one queue, then runs a script. Both are sent together. Redis runs the script as
    /// soon as the connection is no longer blocked.
    ///
    /// - Returns: nil if there was no connection, or if the task was cancelled before the wait began.
    func wait(_ queue: String, _ timeout: Duration, then script: RedisScript, _ arguments: RedisArguments) async throws
        -> Answer?
    {
        if Task.isCancelled { return nil }
        let connection = open()
        let deadline = timeout + Self.delay
        let token = Token()
        connection.submit(pop([queue], timeout), deadline: deadline) { token.take($0) }
        let reply: RedisValue
        do {
            reply = try await untilCancelled(near: queue) {
                try await connection.evaluate(script, tail: arguments, deadline: deadline)
            }
        } catch let error as RedisError where error.wasNotSent && token.wasNotSent {
            return nil
        }
        return Answer(wasWoken: try token.reply().array != nil, reply: reply)
    }

    /// The result of a wait, which is known when the later reply has arrived.
    private final class Token: Sendable {
        private let result = Mutex<Result<RedisValue, RedisError>>(.success(.null))

        func take(_ result: Result<RedisValue, RedisError>) { self.result.withLock { $0 = result } }

        func reply() throws(RedisError) -> RedisValue { try result.withLock { $0 }.get() }

        var wasNotSent: Bool {
            if case .failure(let error) = result.withLock({ $0 }) { error.wasNotSent } else { false }
        }
    }

    private func pop(_ queues: [String], _ timeout: Duration) -> RedisCommand {
        var command = RedisCommand("BLPOP", capacity: 256)
        for queue in queues { command.append(keys.wake(queue)) }
        command.append(String(max(0.01, timeout.inSeconds)))
        return command
    }

    /// Waits for replies. When the task is cancelled, makes Redis answer at once.
    private func untilCancelled<Reply: Sendable>(near queue: String, _ replies: () async throws -> Reply) async throws
        -> Reply
    {
        let wait = Wait()
        return try await withTaskCancellationHandler {
            defer { wait.end() }
            return try await replies()
        } onCancel: {
            unblock(wait, near: keys.wake(queue))
        }
    }

    func close() { link.withLock { $0 }?.close() }

    /// Ends a wait from outside. The request uses another connection and may overtake the wait, so it is repeated until
    /// the wait has ended. If the connection is lost, nothing waits in Redis, and the link is closed.
    private func unblock(_ wait: Wait, near wakeUp: String) {
        Task { [self] in
            var requests = 0
            while !wait.hasEnded {
                let held = link.withLock { $0 }
                let number = clientID.load(ordering: .acquiring)
                if let held, !held.isConnected || number == 0 || (held.endpoint.isCluster && requests == Self.patience)
                {
                    return drop(held)
                }
                requests += 1
                commands.submit(RedisCommand("CLIENT", "UNBLOCK", number), near: wakeUp).whenSuccess { reply in
                    // If the user may not call CLIENT UNBLOCK, closing the connection ends the wait.
                    if reply.error?.code == .noPermission, let held { self.drop(held) }
                }
                try? await Task.sleep(for: .milliseconds(20))
            }
        }
    }

    private func drop(_ held: RedisLink) {
        link.withLock { if $0 === held { $0 = nil } }
        held.close()
    }

    /// A call of `wait`, and whether it has ended.
    private final class Wait: Sendable {
        private let ended = Atomic<Bool>(false)
        var hasEnded: Bool { ended.load(ordering: .acquiring) }
        func end() { ended.store(true, ordering: .releasing) }
    }

    private func open() -> RedisLink {
        link.withLock { link in
            if let link { return link }
            let opened = connections.link(
                "wake-up",
                // The same event loop, because a waiting worker sends commands next.
                on: commands.eventLoop,
                connections.configuration.commandDeadline
            ) { [self] connection in
                connection.submit(RedisCommand("CLIENT", "ID")).map { reply in
                    self.clientID.store(reply.int ?? 0, ordering: .releasing)
                }
            }
            link = opened
            return opened
        }
    }
}

extension RedisError {
    /// Whether the connection failed or ended.
    fileprivate var isOfConnection: Bool { code == .closed || code == .timeout || code == .unreachable }

    fileprivate var wasNotSent: Bool { isOfConnection && !outcomeIsUnknown }
}
