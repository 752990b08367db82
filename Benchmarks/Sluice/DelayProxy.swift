import NIOCore
import NIOPosix
import RedisClient
import SluiceCLI

/// A small network simulation: forwards all bytes after a delay.
final class DelayProxy: Sendable {
    let endpoint: RedisEndpoint
    private let channel: any Channel

    private init(_ channel: any Channel, _ endpoint: RedisEndpoint) {
        self.channel = channel
        self.endpoint = endpoint
    }

    /// - Parameters:
    ///   - server: a server on a unix socket.
    ///   - delay: the delay in each direction.
    static func start(to server: RedisEndpoint, delay: Duration) async throws -> DelayProxy {
        guard case .unix(let path) = server.address else {
            throw CLIError(.bug, "the server of a benchmark is on a unix socket")
        }
        let delay = TimeAmount.nanoseconds(Int64(delay.inSeconds * 1e9))
        let group = MultiThreadedEventLoopGroup.singleton
        let channel = try await ServerBootstrap(group: group)
            // The proxy reads nothing before both sides are connected.
            .childChannelInitializer { client in
                ClientBootstrap(group: client.eventLoop)
                    .channelInitializer { $0.pipeline.addHandler(DelayHandler(to: client, delay: delay)) }
                    .connect(unixDomainSocketPath: path)
                    .flatMap { client.pipeline.addHandler(DelayHandler(to: $0, delay: delay)) }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        guard let port = channel.localAddress?.port else { throw CLIError(.bug, "a proxy has no port") }
        return DelayProxy(channel, RedisEndpoint(address: .tcp(host: "127.0.0.1", port: port), database: 0))
    }

    func stop() { channel.close(promise: nil) }
}

/// One direction of one connection.
private final class DelayHandler: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer

    private let other: any Channel
    private let delay: TimeAmount

    init(to other: any Channel, delay: TimeAmount) {
        self.other = other
        self.delay = delay
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        let other = other
        if delay == .nanoseconds(0) { return other.writeAndFlush(bytes, promise: nil) }
        // An event loop runs tasks with equal delays in the order in which they were scheduled.
        context.eventLoop.scheduleTask(in: delay) { other.writeAndFlush(bytes, promise: nil) }
    }

    func channelInactive(context: ChannelHandlerContext) { other.close(promise: nil) }
}
