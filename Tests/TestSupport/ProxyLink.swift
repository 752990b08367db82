import NIOCore
import NIOPosix
import RedisClient

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// One client of a proxy and its connection to the server, both on one event loop.
///
/// Sendable because all state belongs to that event loop. Other threads only schedule work on it.
final class ProxyLink: @unchecked Sendable {
    private enum Direction {
        case request, reply
    }

    private let client: any Channel
    private let shared: FaultProxy.SharedState
    private var server: (any Channel)?
    /// Requests that came before the connection to the server was open.
    private var early: [ByteBuffer] = []
    private var held: [(Direction, ByteBuffer)] = []
    private var replyBytes = 0
    private var losesNextReply = false

    private init(client: any Channel, shared: FaultProxy.SharedState) {
        self.client = client
        self.shared = shared
    }

    /// Opens the connection to the server for a new client.
    static func open(
        _ client: any Channel,
        to upstream: RedisEndpoint,
        _ shared: FaultProxy.SharedState
    ) -> EventLoopFuture<Void> {
        let link = ProxyLink(client: client, shared: shared)
        let fault = shared.value.withLock { state in
            state.accepted += 1
            state.links[ObjectIdentifier(link)] = link
            return state.fault
        }
        if fault == .reset {
            link.reset()
            return client.eventLoop.makeSucceededVoidFuture()
        }
        return client.pipeline.addHandler(
            Ear {
                link.hear(.request, $0)
            } ended: {
                link.end()
            }
        ).flatMap {
            link.connect(to: upstream)
        }
    }

    private func connect(to upstream: RedisEndpoint) -> EventLoopFuture<Void> {
        let bootstrap = ClientBootstrap(group: client.eventLoop).channelInitializer { channel in
            channel.pipeline.addHandler(
                Ear {
                    self.hear(.reply, $0)
                } ended: {
                    self.end()
                }
            )
        }
        let connecting =
            switch upstream.address {
            case .tcp(let host, let port): bootstrap.connect(host: host, port: port)
            case .unix(let path): bootstrap.connect(unixDomainSocketPath: path)
            case .sentinels, .cluster: preconditionFailure("a proxy stands before one server")
            }
        connecting.whenComplete { result in
            switch result {
            case .success(let server):
                self.server = server
                let early = self.early
                self.early = []
                for bytes in early { server.writeAndFlush(bytes, promise: nil) }
            case .failure: self.end()
            }
        }
        return client.eventLoop.makeSucceededVoidFuture()
    }

    // MARK: Bytes

    private func hear(_ direction: Direction, _ bytes: ByteBuffer) {
        let fault = shared.value.withLock { $0.fault }
        switch (fault, direction) {
        case (.blackhole, _): held.append((direction, bytes))
        case (.delay(let pause), .reply):
            client.eventLoop.scheduleTask(in: TimeAmount(pause)) { self.pass(.reply, bytes) }
        case (.loseReplies(_, _, let marker), .request):
            if bytes.contains(marker) { losesNextReply = losesNextReply || takeTurn() }
            pass(.request, bytes)
        case (_, .reply) where losesNextReply:
            shared.value.withLock { $0.lost += 1 }
            reset()
        case (.cutAfter(let limit), .reply): passUpTo(limit, bytes)
        case (.halfClose, .reply): break
        default: pass(direction, bytes)
        }
    }

    private func pass(_ direction: Direction, _ bytes: ByteBuffer) {
        switch direction {
        case .request:
            guard let server else { return early.append(bytes) }
            server.writeAndFlush(bytes, promise: nil)
        case .reply:
            replyBytes += bytes.readableBytes
            client.writeAndFlush(bytes, promise: nil)
        }
    }

    private func passUpTo(_ limit: Int, _ bytes: ByteBuffer) {
        var bytes = bytes
        let room = max(0, limit - replyBytes)
        guard bytes.readableBytes > room else { return pass(.reply, bytes) }
        if let part = bytes.readSlice(length: room) { pass(.reply, part) }
        end()
    }

    /// Counts one request against the fault.
    /// - Returns: true if the reply to this request is to be dropped.
    private func takeTurn() -> Bool {
        shared.value.withLock { state in
            guard case .loseReplies(let count, let skip, let marker) = state.fault, count > 0 else { return false }
            state.turn += 1
            guard state.turn > skip else { return false }
            state.turn = 0
            state.fault = count == 1 ? .none : .loseReplies(count: count - 1, skip: skip, marker: marker)
            return true
        }
    }

    // MARK: Switching and ending

    func faultChanged(_ fault: FaultProxy.Fault) {
        client.eventLoop.execute {
            switch fault {
            case .reset: self.reset()
            case .halfClose: self.client.close(mode: .output, promise: nil)
            case .blackhole: break
            default: self.releaseHeld()
            }
        }
    }

    private func releaseHeld() {
        let waiting = held
        held = []
        for (direction, bytes) in waiting { hear(direction, bytes) }
    }

    /// Closes the connection with RST instead of FIN.
    func reset() {
        let socket = client as? any SocketOptionProvider
        let lingering = socket?.setSoLinger(linger(l_onoff: 1, l_linger: 0))
        (lingering ?? client.eventLoop.makeSucceededVoidFuture()).whenComplete { _ in self.end() }
    }

    private func end() {
        _ = shared.value.withLock { $0.links.removeValue(forKey: ObjectIdentifier(self)) }
        client.close(promise: nil)
        server?.close(promise: nil)
    }
}

/// Reports the bytes that a channel reads.
private final class Ear: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer

    private let heard: @Sendable (ByteBuffer) -> Void
    private let ended: @Sendable () -> Void

    init(_ heard: @escaping @Sendable (ByteBuffer) -> Void, ended: @escaping @Sendable () -> Void) {
        self.heard = heard
        self.ended = ended
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { heard(unwrapInboundIn(data)) }
    func channelInactive(context: ChannelHandlerContext) { ended() }
    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}

extension ByteBuffer {
    fileprivate func contains(_ text: String) -> Bool {
        text.isEmpty || readableBytesView.firstRange(of: Array(text.utf8)) != nil
    }
}
