import Foundation
import Operations
import RedisClient

extension RedisBroker: DurableBroker {
    package func confirming<Result>(
        _ durability: Durability,
        queue: String,
        _ body: () async throws -> Result
    ) async throws -> (result: Result, isConfirmed: Bool) {
        // The same connection is used before and after the call. If it did not break, it leads to the server that took
        // the write.
        let connection = try await translated { try await confirmations.take(durability, near: keys.meta(queue)) }
        let result: Result
        do { result = try await body() } catch {
            confirmations.put(connection, near: keys.meta(queue))
            throw error
        }
        let isConfirmed = await isConfirmed(durability, queue, connection)
        return (result, isConfirmed)
    }

    /// Returns whether replicas or the disk have confirmed the operation in time.
    ///
    /// WAIT counts from the connection's own last write, so this writes a mark. In the stream of changes to replicas
    /// and append-only file, the mark comes after the operation: a receiver of the mark also has the operation.
    private func isConfirmed(_ durability: Durability, _ queue: String, _ connection: RedisConnection) async -> Bool {
        let patience = configuration.durabilityPatience
        let now = Int(Date().timeIntervalSince1970 * 1000)
        let mark = RedisCommand("HSET", keys.meta(queue), "confirmedAt", now)
        let wait = durability.command(milliseconds: Int(patience.wholeMilliseconds))
        let replies = try? await connection.send([mark, wait], deadline: patience + configuration.commandDeadline)
        guard let replies, replies.count == 2, replies[0].error == nil else {
            connection.close()
            return false
        }
        confirmations.put(connection, near: keys.meta(queue))
        return durability.isMet(by: replies[1])
    }
}

extension Durability {
    fileprivate func command(milliseconds: Int) -> RedisCommand {
        switch self {
        case .none: RedisCommand("PING")
        case .replicas(let number): RedisCommand("WAIT", number, milliseconds)
        case .disk: RedisCommand("WAITAOF", 1, 0, milliseconds)
        }
    }

    /// The same question with nothing to wait for. The answer shows whether the server supports and permits it.
    fileprivate var probe: RedisCommand {
        if case .replicas = self { return RedisCommand("WAIT", 0, 1) }
        return command(milliseconds: 1)
    }

    fileprivate func isMet(by reply: RedisValue) -> Bool {
        switch self {
        case .none: true
        case .replicas(let number): reply.int.map { $0 >= number } ?? false
        case .disk: reply.array?.first?.int.map { $0 >= 1 } ?? false
        }
    }

    fileprivate func refusal(_ error: RedisServerError) -> OperationsError {
        if error.code == .noPermission {
            return OperationsError(.denied, "the Redis user may not wait for durability \(self): \(error.message)")
        }
        let needs =
            switch self {
            case .disk: "it needs Redis 7.2 or newer with appendonly yes"
            default: "it needs a master, not a replica"
            }
        return OperationsError(.invalidOption, "durability \(self) is not supported here: \(needs) (\(error.message))")
    }
}

/// Connections that wait for confirmations. WAIT blocks all later commands of its connection, so one call at a time
/// uses each.
final class Confirmations: Sendable {
    /// The most idle connections. Others are closed after use.
    private static let kept = 8
    private let connections: ConnectionFactory
    private let idle = IdleConnections()

    init(_ connections: ConnectionFactory) { self.connections = connections }

    /// Returns a connection to the server that has a key.
    ///
    /// - Throws: if the server does not support or permit this durability.
    func take(_ durability: Durability, near key: String) async throws -> RedisConnection {
        while let connection = idle.pop(place(key)) {
            if let reply = try? await connection.send([durability.probe])[0] {
                return try checked(connection, reply, durability, key)
            }
            connection.close()
        }
        let connection = try await connections.single("durability", near: key)
        return try checked(connection, try await connection.send([durability.probe])[0], durability, key)
    }

    private func checked(
        _ connection: RedisConnection,
        _ reply: RedisValue,
        _ durability: Durability,
        _ key: String
    ) throws -> RedisConnection {
        guard let error = reply.error else { return connection }
        put(connection, near: key)
        throw durability.refusal(error)
    }

    func put(_ connection: RedisConnection, near key: String) {
        if !idle.push(connection, place(key), limit: Self.kept) { connection.close() }
    }

    /// With a single server, all connections are in one place.
    private func place(_ key: String) -> String { connections.endpoint.isCluster ? key : "" }

    func close() { idle.close().forEach { $0.close() } }
}
