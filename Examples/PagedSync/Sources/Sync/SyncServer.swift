import ExampleServer
import Foundation
import Synchronization

/// The server: contacts that change, served in pages.
final class SyncServer: Sendable {
    /// Replaces or delays the answer to a request for a page; nil = the usual answer.
    typealias Intervention = @Sendable (PageRequest, _ earlier: Int) async -> ExampleServer.Response?

    private struct State {
        var contacts: [String: Contact] = [:]
        var sequence = 0
        var requests: [PageRequest] = []
        var uncompressed = 0

        mutating func set(_ id: String, _ name: String) {
            guard contacts[id]?.name != name else { return }
            sequence += 1
            contacts[id] = Contact(id: id, sequence: sequence, name: name)
        }

        func page(_ request: PageRequest) -> Page {
            let rest = contacts.values.filter { $0.sequence > request.after }.sorted { $0.sequence < $1.sequence }
            let page = Array(rest.prefix(request.limit))
            return Page(contacts: page, next: page.last?.sequence ?? request.after, hasNext: rest.count > page.count)
        }
    }

    private let state: Mutex<State>
    private let intervene: Intervention

    init(contacts: Int, intervene: @escaping Intervention = { _, _ in nil }) {
        var state = State()
        for number in 1...contacts { state.set("c\(number)", "Contact number \(number)") }
        self.state = Mutex(state)
        self.intervene = intervene
    }

    var contacts: [Contact] { state.withLock { $0.contacts.values.sorted { $0.sequence < $1.sequence } } }
    /// The requests, in order.
    var requests: [PageRequest] { state.withLock { $0.requests } }
    /// The number of requests that were not compressed, or accepted no compressed answer.
    var uncompressed: Int { state.withLock { $0.uncompressed } }

    func serve() async throws -> ExampleServer {
        try await ExampleServer.start { [self] request in
            do {
                return try await answer(request)
            } catch let error as InvalidBody {
                return Self.reply(400, Refusal(error: error.reason))
            } catch {
                return Self.reply(400, Refusal(error: "\(error)"))
            }
        }
    }

    private func answer(_ request: ExampleServer.Request) async throws -> ExampleServer.Response {
        guard request.method == "POST" else { return Self.reply(405, Refusal(error: "only POST")) }
        guard request.headers["content-encoding"] == "gzip", request.headers["accept-encoding"] == "gzip" else {
            state.withLock { $0.uncompressed += 1 }
            return Self.reply(415, Refusal(error: "only gzip, both ways"))
        }
        let json = Data(try Gzip.decompress(request.body, limit: 1 << 20))
        switch request.path {
        case "/sync": return try await page(JSONDecoder().decode(PageRequest.self, from: json))
        case "/changes": return try accept(JSONDecoder().decode(Changes.self, from: json))
        default: return Self.reply(404, Refusal(error: "no \(request.path)"))
        }
    }

    private func page(_ request: PageRequest) async throws -> ExampleServer.Response {
        try request.validate()
        let earlier = state.withLock { state in
            defer { state.requests.append(request) }
            return state.requests.count { $0 == request }
        }
        if let other = await intervene(request, earlier) { return other }
        return Self.reply(200, state.withLock { $0.page(request) })
    }

    private func accept(_ changes: Changes) throws -> ExampleServer.Response {
        try changes.validate()
        state.withLock { state in
            for change in changes.changes { state.set(change.id, change.name) }
        }
        return Self.reply(200, Accepted(accepted: changes.changes.count))
    }

    static func reply(_ status: Int, _ body: some Encodable, headers: [String: String] = [:]) -> ExampleServer.Response
    {
        let fields = ["Content-Type": "application/json", "Content-Encoding": "gzip"].merging(headers) { $1 }
        do {
            let compressed = try Gzip.compress(Array(JSONEncoder().encode(body)))
            return ExampleServer.Response(status, headers: fields, body: compressed)
        } catch {
            return ExampleServer.Response(500)
        }
    }
}
