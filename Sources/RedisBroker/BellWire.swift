import NIOCore
import Operations
import RedisClient
import Synchronization

/// A blocking connection, for one call at a time.
final class BellWire: Sendable {
    /// Requests to end a wait in a cluster. More do not help: the bell is on another node by now.
    private static let patience = 50
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

    /// See ``Doorbell/wait(queues:timeout:)``.
    func wait(_ queues: [String], _ timeout: Duration) async throws -> String? {
        try Task.checkCancellation()
        guard let first = queues.first else { return nil }
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
                unblock(wait, near: keys.bell(first))
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
    private func unblock(_ wait: Wait, near bell: String) {
        Task { [self] in
            var requests = 0
            while !wait.hasEnded {
                let held = link.withLock { $0 }
                if let held, !held.isConnected || (held.endpoint.isCluster && requests == Self.patience) {
                    link.withLock { if $0 === held { $0 = nil } }
                    return held.close()
                }
                requests += 1
                let number = clientID.load(ordering: .acquiring)
                _ = commands.submit(RedisCommand("CLIENT", "UNBLOCK", number), near: bell)
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
                // Whoever waits here sends commands next.
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
