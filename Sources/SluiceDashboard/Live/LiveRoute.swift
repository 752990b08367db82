import Hummingbird
import NIOCore
import Operations
import ServiceLifecycle

/// The stream of server-sent events: one event for each read of Redis.
///
/// An event says that a new snapshot was read, and whether Redis answers. The script of a page then fetches the page's
/// content, which is made of the same snapshot. A browser that reconnects gets the newest event at once.
struct LiveRoute: Sendable {
    let site: Site

    func add(to group: RouterGroup<DashboardContext>) {
        group.get("live") { request, _ in
            guard request.method == .get else { return Response(status: .ok, headers: Self.headers) }
            guard let place = site.streams.begin() else {
                throw PageFailure(
                    status: .serviceUnavailable,
                    title: "Too many streams",
                    message: "This dashboard serves at most \(Limits.streams) streams."
                )
            }
            return Response(status: .ok, headers: Self.headers, body: body(place))
        }
    }

    private static let headers: HTTPFields = [
        .contentType: "text/event-stream; charset=utf-8", .cacheControl: ResponseRules.noStore,
    ]

    private func body(_ place: StreamCount.Place) -> ResponseBody {
        ResponseBody { [site] writer in
            defer { withExtendedLifetime(place) {} }
            let (events, inbox) = AsyncStream.makeStream(of: String.self, bufferingPolicy: .bufferingNewest(2))
            let reading = Task { await Self.read(site.loop, inbox) }
            let beating = Task { try await Self.beat(inbox) }
            defer {
                reading.cancel()
                beating.cancel()
            }
            for await event in events.cancelOnGracefulShutdown() { try await writer.write(ByteBuffer(string: event)) }
            try await writer.finish(nil)
        }
    }

    /// Sends the reads, one after the other.
    private static func read(_ loop: SnapshotLoop, _ inbox: AsyncStream<String>.Continuation) async {
        var sequence = -1
        while !Task.isCancelled {
            let reading = await loop.next(after: sequence)
            sequence = reading.sequence
            let data: JSONValue = ["sequence": .number(reading.sequence), "failure": JSONValue(reading.failure)]
            inbox.yield("id: \(reading.sequence)\nevent: snapshot\ndata: \(data.serialized())\n\n")
        }
    }

    /// Shows that the stream is not cut, also with a long interval between reads.
    private static func beat(_ inbox: AsyncStream<String>.Continuation) async throws {
        while true {
            try await Task.sleep(for: .seconds(10))
            inbox.yield("event: beat\ndata: {}\n\n")
        }
    }
}
