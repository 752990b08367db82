import RedisClient
import Synchronization

/// Connections that nobody uses at the moment, each for one place.
final class IdleConnections: Sendable {
    private typealias Idle = (connection: RedisConnection, place: String)
    private let state = Mutex<(connections: [Idle], isClosed: Bool)>(([], false))

    func pop(_ place: String) -> RedisConnection? {
        state.withLock { state in
            state.connections.lastIndex { $0.place == place }.map { state.connections.remove(at: $0).connection }
        }
    }

    /// - Returns: false if there are enough.
    func push(_ connection: RedisConnection, _ place: String, limit: Int) -> Bool {
        state.withLock { state in
            guard !state.isClosed, state.connections.count < limit else { return false }
            state.connections.append((connection, place))
            return true
        }
    }

    /// - Returns: those to be closed; none is taken from now on.
    func close() -> [RedisConnection] {
        state.withLock { state in
            defer { state = ([], true) }
            return state.connections.map(\.connection)
        }
    }
}
