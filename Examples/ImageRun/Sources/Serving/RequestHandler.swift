import Foundation
import NIOCore
import NIOHTTP1

/// Answers the requests of one connection, one after the other.
final class RequestHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let site: Site
    private let traffic: Traffic
    private var head: HTTPRequestHead?
    private var exchange: Traffic.Exchange?

    init(site: Site, traffic: Traffic) {
        self.site = site
        self.traffic = traffic
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            // Requests sent ahead of their answers would need a queue. No client of this example sends such requests.
            if self.head != nil { context.close(promise: nil) } else { self.head = head }
        case .body: break
        case .end: answer(context)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        if let exchange { traffic.end(exchange, .clientClosed) }
        exchange = nil
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private func answer(_ context: ChannelHandlerContext) {
        guard let head, exchange == nil else { return }
        var exchange = traffic.begin(method: head.method.rawValue, path: head.uri)
        let reply = Reply(
            method: head.method.rawValue,
            target: site.target(head.uri),
            site: site,
            earlierRequests: exchange.earlierRequests
        )
        exchange.status = reply.status
        self.exchange = exchange
        after(reply.delayMilliseconds, context) { handler in
            handler.sendHead(of: reply, context)
            handler.send(reply, pieces: reply.pieces[...], context)
        }
    }

    /// Runs the next step now or after a delay, but never after the connection is closed.
    private func after(
        _ milliseconds: Int64,
        _ context: ChannelHandlerContext,
        _ step: @escaping (RequestHandler) -> Void
    ) {
        guard milliseconds > 0 else { return step(self) }
        context.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(milliseconds)) {
            if self.exchange != nil { step(self) }
        }
    }

    private func sendHead(of reply: Reply, _ context: ChannelHandlerContext) {
        var fields = HTTPHeaders([
            ("Content-Length", "\(reply.body.count)"), ("Content-Type", reply.contentType),
            ("Cache-Control", "no-store"),
        ])
        if reply.status == 405 { fields.add(name: "Allow", value: "GET, HEAD") }
        if reply.status == 503 { fields.add(name: "Retry-After", value: "1") }
        if !keepsAlive { fields.add(name: "Connection", value: "close") }
        if reply.pieces.isEmpty, let exchange { traffic.leave(exchange) }
        let status = HTTPResponseStatus(statusCode: reply.status)
        let part = HTTPServerResponsePart.head(HTTPResponseHead(version: .http1_1, status: status, headers: fields))
        context.writeAndFlush(wrapOutboundOut(part), promise: nil)
    }

    private var keepsAlive: Bool { head?.isKeepAlive ?? false }

    /// Sends the next piece. The rest waits until the connection has taken the piece, and for the pause.
    private func send(_ reply: Reply, pieces: ArraySlice<Reply.Piece>, _ context: ChannelHandlerContext) {
        guard let exchange else { return }
        guard let piece = pieces.first else { return finish(reply, context) }
        let rest = pieces.dropFirst()
        if rest.isEmpty { traffic.leave(exchange) }
        var buffer = context.channel.allocator.buffer(capacity: piece.range.count)
        buffer.writeBytes(reply.body[piece.range])
        let part = HTTPServerResponsePart.body(.byteBuffer(buffer))
        context.writeAndFlush(wrapOutboundOut(part)).assumeIsolated().whenSuccess {
            guard self.exchange != nil else { return }
            self.exchange?.bytes += piece.range.count
            self.exchange.map(self.traffic.update)
            self.after(rest.isEmpty ? 0 : piece.pauseMilliseconds, context) { $0.send(reply, pieces: rest, context) }
        }
    }

    private func finish(_ reply: Reply, _ context: ChannelHandlerContext) {
        guard let exchange else { return }
        self.exchange = nil
        traffic.end(exchange, reply.cutAfter == nil ? .complete : .cut)
        let closes = !keepsAlive || reply.cutAfter != nil
        head = nil
        guard reply.cutAfter == nil else { return context.close(promise: nil) }
        let sent = context.writeAndFlush(wrapOutboundOut(.end(nil))).assumeIsolated()
        if closes { sent.whenComplete { _ in context.close(promise: nil) } }
    }
}
