import Synchronization

/// The requests of a server, with their numbers in flight.
///
/// The numbers show from the other side of the wire whether a program keeps its promises.
public final class Traffic: Sendable {
    /// A request that is being answered.
    public struct Exchange: Sendable {
        let path: String
    }

    private struct Count {
        var now = 0
        var most = 0
        var total = 0

        mutating func begin() {
            now += 1
            total += 1
            most = max(most, now)
        }
    }

    private struct State {
        var all = Count()
        var byPath: [String: Count] = [:]
        var paths: [String] = []
    }

    private let state = Mutex(State())

    /// The requested paths, in order.
    public var paths: [String] { state.withLock { $0.paths } }

    /// The most requests in flight at once.
    public var mostInFlight: Int { state.withLock { $0.all.most } }

    /// The most requests for a single path in flight at once.
    public var mostInFlightOfOnePath: Int { state.withLock { $0.byPath.values.map(\.most).max() ?? 0 } }

    /// Returns the number of requests for a path.
    public func requests(for path: String) -> Int { state.withLock { $0.byPath[path]?.total ?? 0 } }

    func begin(_ path: String) -> Exchange {
        state.withLock { state in
            state.all.begin()
            state.byPath[path, default: Count()].begin()
            state.paths.append(path)
        }
        return Exchange(path: path)
    }

    func end(_ exchange: Exchange) {
        state.withLock { state in
            state.all.now -= 1
            state.byPath[exchange.path]?.now -= 1
        }
    }
}
