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
            guard site.streams.begin() else {
                throw PageFailure(
                    status: .serviceUnavailable,
                    title: "Too many streams",
                    message: "This dashboard serves at most \(Limits.streams) streams."
                )
            }
            return Response(status: .ok, headers: Self.headers, body: body)
        }
    }

    private static let headers: HTTPFields = [
        .contentType: "text/event-stream; charset=utf-8", .cacheControl: ResponseRules.noStore,
    ]

    private var body: ResponseBody {
        ResponseBody { [site] writer in
            defer { site.streams.end() }
            let events = AsyncStream(unfolding: Events(loop: site.loop).next)
            for await event in events.cancelOnGracefulShutdown() { try await writer.write(ByteBuffer(string: event)) }
            try await writer.finish(nil)
        }
    }

    /// Waits for reads, one after the other.
    private actor Events {
        private let loop: SnapshotLoop
        private var sequence = -1

        init(loop: SnapshotLoop) { self.loop = loop }

        func next() async -> String? {
            guard !Task.isCancelled else { return nil }
            let reading = await loop.next(after: sequence)
            sequence = reading.sequence
            let data: JSONValue = ["sequence": .number(reading.sequence), "failure": JSONValue(reading.failure)]
            return "id: \(reading.sequence)\nevent: snapshot\ndata: \(data.serialized())\n\n"
        }
    }
}
