import NIOCore
import NIOPosix
import Synchronization

/// A proxy in front of a server on a unix socket. Once silent, it keeps connections open and forwards nothing.
public final class SilentProxy: Sendable {
    private let listener: any Channel
    private let gate: Gate

    private init(listener: any Channel, gate: Gate) {
        self.listener = listener
        self.gate = gate
    }

    /// Listens on a free port of 127.0.0.1.
    public static func start(to socket: String) async throws -> SilentProxy {
        let gate = Gate()
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { client in
                ClientBootstrap(group: client.eventLoop).connect(unixDomainSocketPath: socket).flatMap { server in
                    client.pipeline.addHandler(Forwarder(to: server, gate)).and(
                        server.pipeline.addHandler(Forwarder(to: client, gate))
                    ).map { _ in }
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        return SilentProxy(listener: listener, gate: gate)
    }

    /// The URL of the Redis behind the proxy.
    public var url: String { "redis://127.0.0.1:\(listener.localAddress?.port ?? 0)" }

    /// Drops everything from now on.
    public func silence() { gate.isSilent.store(true, ordering: .sequentiallyConsistent) }

    /// Accepts no further connections. The others end with their clients.
    public func stop() { listener.close(promise: nil) }
}

/// Whether the connections of a proxy forward.
private final class Gate: Sendable {
    let isSilent = Atomic(false)
}

/// Forwards the bytes of one end of a connection to the other.
private final class Forwarder: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer

    private let target: any Channel
    private let gate: Gate

    init(to target: any Channel, _ gate: Gate) {
        self.target = target
        self.gate = gate
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !gate.isSilent.load(ordering: .sequentiallyConsistent) else { return }
        target.writeAndFlush(unwrapInboundIn(data), promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) { target.close(promise: nil) }
    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
