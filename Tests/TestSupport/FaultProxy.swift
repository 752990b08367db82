import NIOCore
import NIOPosix
import RedisClient
import Synchronization

/// Stands between a client and a Redis server and does to the connection what networks do. Faults are switched while it
/// runs and hold for open and new connections.
package final class FaultProxy: Sendable {
    package enum Fault: Sendable, Equatable {
        /// Everything passes.
        case none
        /// Nothing passes in either direction and nothing is closed. What is held passes when the fault ends.
        case blackhole
        /// Replies wait this long.
        case delay(Duration)
        /// Every connection is reset, new ones at once.
        case reset
        /// The server gets the request and answers, the answer is thrown away and the connection reset. Counts the answers
        /// of requests that contain `marker` (all requests if it is empty), from the next one on: the first `count` after
        /// leaving out `skip` each time.
        case loseReplies(count: Int, skip: Int = 0, marker: String = "")
        /// Each connection is closed after so many bytes of replies.
        case cutAfter(replyBytes: Int)
        /// The client sees the end of the stream, its own direction stays open.
        case halfClose
    }

    struct State {
        var fault = Fault.none
        var links: [ObjectIdentifier: ProxyLink] = [:]
        var accepted = 0
        var lost = 0
        /// Marked requests since the last one whose reply was lost.
        var turn = 0
    }

    /// Where clients connect instead.
    package let endpoint: RedisEndpoint
    private let listener: any Channel
    private let state: SharedState

    /// The state that all links of a proxy look at.
    final class SharedState: Sendable {
        let value = Mutex(State())
    }

    private init(endpoint: RedisEndpoint, listener: any Channel, state: SharedState) {
        self.endpoint = endpoint
        self.listener = listener
        self.state = state
    }

    /// Listens on a loopback port and connects every client to `upstream`.
    package static func start(to upstream: RedisEndpoint) async throws -> FaultProxy {
        let group = MultiThreadedEventLoopGroup.singleton
        let state = SharedState()
        let listener = try await ServerBootstrap(group: group)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { client in ProxyLink.open(client, to: upstream, state) }
            .bind(host: "127.0.0.1", port: 0).get()
        var endpoint = upstream
        endpoint.address = .tcp(host: "127.0.0.1", port: listener.localAddress?.port ?? 0)
        if upstream.user == TestUsers.tester { TestUsers.add(address: listener.localAddress?.port ?? 0) }
        return FaultProxy(endpoint: endpoint, listener: listener, state: state)
    }

    /// Switches the fault.
    package func set(_ fault: Fault) {
        let links = state.value.withLock { state in
            state.fault = fault
            return Array(state.links.values)
        }
        for link in links { link.faultChanged(fault) }
    }

    /// Resets the connections of this moment; new ones pass.
    package func resetAll() {
        for link in state.value.withLock({ Array($0.links.values) }) { link.reset() }
    }

    /// Connections made so far.
    package var accepted: Int { state.value.withLock { $0.accepted } }
    /// Connections open now.
    package var open: Int { state.value.withLock { $0.links.count } }
    /// Replies thrown away so far.
    package var lostReplies: Int { state.value.withLock { $0.lost } }

    package func stop() {
        listener.close(promise: nil)
        resetAll()
    }
}
