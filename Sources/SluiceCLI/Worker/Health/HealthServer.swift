import NIOCore
import NIOHTTP1
import NIOPosix

/// Answers `GET /live` with 200, and `GET /ready` with 200 or 503; both with the report as JSON. Serves one request for
/// each connection.
final class HealthServer: Sendable {
    /// The limit for pending connections. Few clients connect.
    private static let backlog: Int32 = 64
    private let group: MultiThreadedEventLoopGroup
    private let channel: any Channel
    /// The address and port.
    let address: String

    private init(group: MultiThreadedEventLoopGroup, channel: any Channel, host: String) {
        self.group = group
        self.channel = channel
        let name = host.contains(":") ? "[\(host)]" : host
        address = "\(name):\(channel.localAddress?.port ?? 0)"
    }

    /// Opens the port; 0 = any free port.
    ///
    /// - Throws: `CLIError` with `.badConfiguration` if the port cannot be opened.
    static func start(
        host: String,
        port: Int,
        report: @escaping @Sendable () -> HealthReport
    ) async throws -> HealthServer {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let bootstrap = ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: backlog)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let operations = channel.pipeline.syncOperations
                    try operations.configureHTTPServerPipeline(withErrorHandling: true)
                    try operations.addHandler(HealthHandler(report: report))
                }
            }
        do {
            let channel = try await bootstrap.bind(host: host, port: port).get()
            return HealthServer(group: group, channel: channel, host: host)
        } catch {
            try? await group.shutdownGracefully()
            throw CLIError(
                .badConfiguration,
                "--health cannot listen on \(host) port \(port): \(error)",
                fix: "--health PORT with a free port of this machine, or 0 for any"
            )
        }
    }

    func stop() async {
        try? await channel.close()
        try? await group.shutdownGracefully()
    }
}

/// Handles a connection: waits for the end of the request, answers and closes.
private final class HealthHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    /// The time after which an idle connection is closed.
    private static let patience: TimeAmount = .seconds(5)
    private let report: @Sendable () -> HealthReport
    private var request: HTTPRequestHead?
    private var deadline: Scheduled<Void>?

    init(report: @escaping @Sendable () -> HealthReport) { self.report = report }

    func channelActive(context: ChannelHandlerContext) {
        let channel = context.channel
        deadline = context.eventLoop.scheduleTask(in: Self.patience) { channel.close(promise: nil) }
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        deadline?.cancel()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): request = head
        case .body: break
        case .end: if let request { answer(request, context) }
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func answer(_ request: HTTPRequestHead, _ context: ChannelHandlerContext) {
        let (status, text) = reply(to: request)
        var fields = HTTPHeaders()
        fields.add(name: "Content-Type", value: "application/json")
        fields.add(name: "Content-Length", value: "\(text.utf8.count)")
        fields.add(name: "Cache-Control", value: "no-store")
        fields.add(name: "Connection", value: "close")
        let head = HTTPResponseHead(version: .http1_1, status: status, headers: fields)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        if request.method != .HEAD {
            context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: text)))), promise: nil)
        }
        let channel = context.channel
        context.writeAndFlush(wrapOutboundOut(.end(nil))).whenComplete { _ in channel.close(promise: nil) }
    }

    private func reply(to request: HTTPRequestHead) -> (HTTPResponseStatus, String) {
        guard [.GET, .HEAD].contains(request.method) else {
            return (.methodNotAllowed, #"{"v":1,"error":"only GET is understood"}"# + "\n")
        }
        let report = report()
        switch request.uri.prefix(while: { $0 != "?" }) {
        case "/live": return (.ok, report.json)
        case "/ready": return (report.health.isReady ? .ok : .serviceUnavailable, report.json)
        default: return (.notFound, #"{"v":1,"error":"ask for /live or /ready"}"# + "\n")
        }
    }
}
