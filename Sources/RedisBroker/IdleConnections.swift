import RedisClient
import Synchronization

/// Connections that nobody uses at the moment.
final class IdleConnections: Sendable {
    private let state = Mutex<(connections: [RedisConnection], isClosed: Bool)>(([], false))

    func pop() -> RedisConnection? { state.withLock { $0.connections.popLast() } }

    /// - Returns: false if there are enough.
    func push(_ connection: RedisConnection, limit: Int) -> Bool {
        state.withLock { state in
            guard !state.isClosed, state.connections.count < limit else { return false }
            state.connections.append(connection)
            return true
        }
    }

    /// - Returns: those to be closed; none is taken from now on.
    func close() -> [RedisConnection] {
        state.withLock { state in
            defer { state = ([], true) }
            return state.connections
        }
    }
}
