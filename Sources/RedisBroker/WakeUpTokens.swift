import NIOCore
import Operations
import RedisClient
import Synchronization

/// The waits of idle workers for wake-up tokens in Redis. One connection blocks for all queues. A cluster needs one
/// connection for each queue, because BLPOP takes keys of a single slot.
final class WakeUpTokens: Sendable {
    private let connections: ConnectionFactory
    private let keys: Keys
    private let commands: RedisLink
    private let isCluster: Bool
    /// By queue in a cluster; otherwise a single connection.
    private let wires = Mutex<[String: WakeUpConnection]>([:])

    init(_ connections: ConnectionFactory, keys: Keys, commands: RedisLink) {
        self.connections = connections
        self.keys = keys
        self.commands = commands
        isCluster = connections.endpoint.isCluster
    }

    /// Waits and returns the queue whose token was taken. Returns nil if no token came in time, or if the connection
    /// broke. The next heartbeat then shows whether a wake was lost.
    func wait(queues: [String], timeout: Duration) async throws -> String? {
        guard isCluster, let first = queues.first else { return try await wire("").wait(queues, timeout) }
        guard queues.count > 1 else { return try await wire(first).wait(queues, timeout) }
        let woken = try await waitForEach(queues, timeout)
        // Several tokens may come at once. The others go back for the next worker that waits.
        for queue in woken.dropFirst() { try await put(queue) }
        if woken.isEmpty { try Task.checkCancellation() }
        return woken.first
    }

    /// See ``WakeUpConnection/wait(_:_:then:_:)``. Not for clusters.
    func wait(queue: String, timeout: Duration, then script: RedisScript, _ arguments: RedisArguments) async throws
        -> WakeUpConnection.Answer?
    {
        try await wire("").wait(queue, timeout, then: script, arguments)
    }

    private func waitForEach(_ queues: [String], _ timeout: Duration) async throws -> [String] {
        try await withThrowingTaskGroup(of: String?.self) { group in
            for queue in queues { group.addTask { try await self.wire(queue).wait([queue], timeout) } }
            var woken: [String] = []
            var failure: (any Error)?
            while let result = await group.nextResult() {
                group.cancelAll()
                switch result {
                case .success(let queue?): woken.append(queue)
                case .success(nil), .failure(is CancellationError): break
                case .failure(let error): failure = failure ?? error
                }
            }
            if woken.isEmpty, let failure { throw failure }
            return woken
        }
    }

    /// Makes sure that the queue has exactly one token, because a second one would wake a worker for nothing. A
    /// conditional push would do as well, but push and trim take one round trip on every server version.
    func put(_ queue: String) async throws {
        for reply in try await commands.send([
            RedisCommand("RPUSH", keys.wake(queue), "1"), RedisCommand("LTRIM", keys.wake(queue), 0, 0),
        ]) { try reply.expectSuccess() }
    }

    func close() { for wire in wires.withLock({ Array($0.values) }) { wire.close() } }

    private func wire(_ name: String) -> WakeUpConnection {
        wires.withLock { wires in
            if let wire = wires[name] { return wire }
            let wire = WakeUpConnection(connections, keys: keys, commands: commands)
            wires[name] = wire
            return wire
        }
    }
}
