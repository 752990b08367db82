import RedisClient
import Synchronization

/// Open connections that no call uses now, each to the server of one place.
final class IdleConnections: Sendable {
    private typealias Idle = (connection: RedisConnection, place: String)
    private let state = Mutex<(connections: [Idle], isClosed: Bool)>(([], false))

    func pop(_ place: String) -> RedisConnection? {
        state.withLock { state in
            state.connections.lastIndex { $0.place == place }.map { state.connections.remove(at: $0).connection }
        }
    }

    /// - Returns: false if enough connections are stored or `close()` was called. The caller then closes the
    ///   connection.
    func push(_ connection: RedisConnection, _ place: String, limit: Int) -> Bool {
        state.withLock { state in
            guard !state.isClosed, state.connections.count < limit else { return false }
            state.connections.append((connection, place))
            return true
        }
    }

    /// - Returns: the stored connections, which the caller closes. Later connections are refused.
    func close() -> [RedisConnection] {
        state.withLock { state in
            defer { state = ([], true) }
            return state.connections.map(\.connection)
        }
    }
}
