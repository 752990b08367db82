import NIOCore
import NIOPosix
import Operations
import RedisClient
import Synchronization

/// The blocking connection: an idle worker sleeps in Redis until a bell rings.
final class Doorbell: Sendable {
    private let connections: ConnectionFactory
    private let keys: Keys
    private let commands: RedisLink
    private let link = Mutex<RedisLink?>(nil)
    /// The server's number for the blocking connection: CLIENT UNBLOCK needs it.
    private let clientID = Atomic<Int>(0)

    init(_ connections: ConnectionFactory, keys: Keys, commands: RedisLink) {
        self.connections = connections
        self.keys = keys
        self.commands = commands
    }

    /// Returns the queue whose token was taken, or nil: nothing rang in time, or the connection broke (then the next heartbeat
    /// says whether a ring was lost).
    func wait(queues: [String], timeout: Duration) async throws -> String? {
        try Task.checkCancellation()
        var command = RedisCommand("BLPOP", capacity: 256)
        for queue in queues { command.append(keys.bell(queue)) }
        command.append(String(max(0.01, timeout.inSeconds)))
        let connection = open()
        do {
            let wait = Wait()
            let reply = try await withTaskCancellationHandler {
                defer { wait.end() }
                return try await connection.send(command, deadline: timeout + .seconds(5))
            } onCancel: {
                unblock(wait)
            }
            if let key = reply.array?.first?.string { return keys.queue(of: key) }
            if let error = reply.error, !error.code.demandsReconnect { throw RedisError(server: error) }
        } catch let error as RedisError
            where error.code == .closed || error.code == .timeout || error.code == .unreachable
        {
            // The link comes back by itself; the next call waits for it.
        }
        try Task.checkCancellation()
        return nil
    }

    func close() { link.withLock { $0 }?.close() }

    /// Ends a wait from outside. The request goes over another connection and may overtake the wait: it is repeated until the wait
    /// has ended. Without a connection nothing waits in Redis, and the link is given up.
    private func unblock(_ wait: Wait) {
        Task { [self] in
            while !wait.hasEnded {
                let held = link.withLock { $0 }
                if let held, !held.isConnected {
                    link.withLock { if $0 === held { $0 = nil } }
                    return held.close()
                }
                _ = commands.submit(RedisCommand("CLIENT", "UNBLOCK", clientID.load(ordering: .acquiring)))
                try? await Task.sleep(for: .milliseconds(20))
            }
        }
    }

    /// One call of `wait`, and whether it is over.
    private final class Wait: Sendable {
        private let ended = Atomic<Bool>(false)
        var hasEnded: Bool { ended.load(ordering: .acquiring) }
        func end() { ended.store(true, ordering: .releasing) }
    }

    private func open() -> RedisLink {
        link.withLock { link in
            if let link { return link }
            let opened = connections.link(
                "doorbell",
                on: MultiThreadedEventLoopGroup.singleton.any(),
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
