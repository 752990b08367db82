import NIOCore
import NIOPosix
import RedisClient
import Synchronization

/// A proxy between a client and a Redis server that causes network faults.
///
/// Faults are switched while the proxy runs, and apply to open and new connections.
package final class FaultProxy: Sendable {
    package enum Fault: Sendable, Equatable {
        /// The proxy forwards everything.
        case none
        /// The proxy forwards nothing in either direction and closes nothing. When the fault ends, it forwards the held
        /// bytes.
        case blackhole
        /// Replies are delayed by this time.
        case delay(Duration)
        /// The proxy resets every connection, new ones at once.
        case reset
        /// The server gets the request and answers, but the proxy drops the reply and resets the connection.
        ///
        /// The fault counts replies to requests that contain `marker` (all requests if it is empty), beginning with the
        /// next one. The proxy drops `count` of these replies, and forwards `skip` before each dropped one.
        case loseReplies(count: Int, skip: Int = 0, marker: String = "")
        /// The proxy closes each connection after so many bytes of replies.
        case cutAfter(replyBytes: Int)
        /// The client sees the end of the stream, but its own direction stays open.
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

    /// The endpoint to which clients connect instead of the server.
    package let endpoint: RedisEndpoint
    private let listener: any Channel
    private let state: SharedState

    /// The state shared by all links of a proxy.
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

    /// Resets the present connections. New ones pass.
    package func resetAll() {
        for link in state.value.withLock({ Array($0.links.values) }) { link.reset() }
    }

    /// The number of connections made so far.
    package var accepted: Int { state.value.withLock { $0.accepted } }
    /// The number of open connections.
    package var open: Int { state.value.withLock { $0.links.count } }
    /// The number of dropped replies so far.
    package var lostReplies: Int { state.value.withLock { $0.lost } }

    package func stop() {
        listener.close(promise: nil)
        resetAll()
    }
}
