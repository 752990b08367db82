import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix

/// A small HTTP server on a free port of 127.0.0.1, for programs that need a server to call.
public final class ExampleServer: Sendable {
    /// Answers one request. The task is cancelled when the client disconnects.
    public typealias Handler = @Sendable (Request) async -> Response

    public struct Request: Sendable {
        public let method: String
        /// The path, including the query if the request has one.
        public let path: String
        /// The headers by lowercase name.
        public let headers: [String: String]
        public let body: [UInt8]
    }

    public struct Response: Sendable {
        public var status: Int
        public var headers: [String: String]
        public var body: [UInt8]

        public init(_ status: Int, headers: [String: String] = [:], body: [UInt8] = []) {
            self.status = status
            self.headers = headers
            self.body = body
        }
    }

    /// The requests so far, and their numbers in flight.
    public let traffic: Traffic
    private let channel: any Channel

    private init(channel: any Channel, traffic: Traffic) {
        self.channel = channel
        self.traffic = traffic
    }

    /// Starts a server.
    ///
    /// - Parameters:
    ///   - bodyLimit: the longest body of a request in bytes; longer ones are answered with 413.
    ///   - handler: answers each request.
    public static func start(bodyLimit: Int = 1 << 20, _ handler: @escaping Handler) async throws -> ExampleServer {
        let traffic = Traffic()
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 256)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.configureHTTPServerPipeline()
                    try pipeline.addHandler(NIOHTTPServerRequestAggregator(maxContentLength: bodyLimit))
                    try pipeline.addHandler(Connection(traffic: traffic, handler: handler))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        return ExampleServer(channel: channel, traffic: traffic)
    }

    /// `http://127.0.0.1:PORT`
    public var address: String { "http://127.0.0.1:\(channel.localAddress?.port ?? 0)" }

    /// Accepts no further connections.
    public func stop() async throws { try await channel.close() }
}

/// One connection. Requests come one at a time: the pipeline holds back requests that the client sends ahead.
private final class Connection: ChannelInboundHandler {
    typealias InboundIn = NIOHTTPServerRequestFull
    typealias OutboundOut = HTTPServerResponsePart

    private let traffic: Traffic
    private let handler: ExampleServer.Handler
    private var answering: (exchange: Traffic.Exchange, task: Task<Void, Never>)?

    init(traffic: Traffic, handler: @escaping ExampleServer.Handler) {
        self.traffic = traffic
        self.handler = handler
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let full = unwrapInboundIn(data)
        let request = ExampleServer.Request(full)
        let exchange = traffic.begin(request.path)
        let (connection, bound) = (NIOLoopBound(self, eventLoop: context.eventLoop), context.loopBound)
        let task = Task { [handler, loop = context.eventLoop] in
            let response = await handler(request)
            loop.execute { connection.value.send(response, keepsAlive: full.head.isKeepAlive, bound.value) }
        }
        answering = (exchange, task)
    }

    func channelInactive(context: ChannelHandlerContext) {
        if let answering {
            traffic.end(answering.exchange)
            answering.task.cancel()
        }
        answering = nil
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func send(_ response: ExampleServer.Response, keepsAlive: Bool, _ context: ChannelHandlerContext) {
        guard let exchange = answering?.exchange else { return }
        answering = nil
        // The exchange ends before the last bytes leave. With these bytes, the client may send its next request, and
        // both must not count as in flight.
        traffic.end(exchange)
        var fields = HTTPHeaders(response.headers.map { ($0.key, $0.value) })
        fields.replaceOrAdd(name: "Content-Length", value: "\(response.body.count)")
        if !keepsAlive { fields.replaceOrAdd(name: "Connection", value: "close") }
        let status = HTTPResponseStatus(statusCode: response.status)
        let head = HTTPResponseHead(version: .http1_1, status: status, headers: fields)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: response.body)))), promise: nil)
        let sent = context.writeAndFlush(wrapOutboundOut(.end(nil))).assumeIsolated()
        if !keepsAlive { sent.whenComplete { _ in context.close(promise: nil) } }
    }
}

extension ExampleServer.Request {
    fileprivate init(_ full: NIOHTTPServerRequestFull) {
        self.init(
            method: full.head.method.rawValue,
            path: full.head.uri,
            headers: Dictionary(full.head.headers.map { ($0.name.lowercased(), $0.value) }) { $0 + ", " + $1 },
            body: full.body.map { Array($0.readableBytesView) } ?? []
        )
    }
}
