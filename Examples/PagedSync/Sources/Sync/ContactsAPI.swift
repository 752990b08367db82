import AsyncHTTPClient
import ExampleBasics
import Foundation
import NIOCore

/// The two calls of the server. Requests and answers are gzipped JSON, and both are checked.
final class ContactsAPI: Sendable {
    let address: String
    private let calls = Gauge()

    /// One client for the process, because a client keeps connections.
    private static let client: HTTPClient = {
        // The code below checks itself which bodies are compressed.
        var configuration = HTTPClient.Configuration(decompression: .disabled)
        // An unreachable server fails the call at once. The operation itself retries.
        configuration.connectionPool.retryConnectionEstablishment = false
        return HTTPClient(configuration: configuration)
    }()

    /// - Parameter address: `http://HOST:PORT`
    init(address: String) { self.address = address }

    /// The most calls in flight at once.
    var mostInFlight: Int { calls.most }

    func page(_ request: PageRequest) async throws -> Page {
        try request.validate()
        let page: Page = try await post(request, to: "/sync")
        do throws(InvalidBody) { try page.validate(as: request) } catch {
            throw SyncError(.invalid, "a page after \(request.after): \(error.reason)")
        }
        return page
    }

    func upload(_ changes: Changes) async throws {
        try changes.validate()
        let answer: Accepted = try await post(changes, to: "/changes")
        guard answer.accepted == changes.changes.count else {
            throw SyncError(.invalid, "\(answer.accepted) of \(changes.changes.count) changes accepted")
        }
    }

    private func post<Body: Encodable, Answer: Decodable>(_ body: Body, to path: String) async throws -> Answer {
        let (response, json) = try await exchange(try Gzip.compress(Array(JSONEncoder().encode(body))), path)
        guard response.status == .ok else {
            let reason = (try? JSONDecoder().decode(Refusal.self, from: json))?.error ?? "no reason given"
            let pause = response.headers.first(name: "Retry-After").flatMap(Int.init).map { Duration.seconds($0) }
            let status = Int(response.status.code)
            throw SyncError(.refused, "\(path): \(status), \(reason)", status: status, retryAfter: pause)
        }
        do {
            return try JSONDecoder().decode(Answer.self, from: json)
        } catch {
            throw SyncError(.invalid, "\(path): \(error)")
        }
    }

    private func exchange(_ body: [UInt8], _ path: String) async throws -> (HTTPClientResponse, Data) {
        calls.begin()
        defer { calls.end() }
        let (response, answer): (HTTPClientResponse, [UInt8])
        do {
            // The time limit of the operation ends the call.
            response = try await Self.client.execute(request(body, path), deadline: .distantFuture)
            answer = Array(try await response.body.collect(upTo: 1 << 20).readableBytesView)
        } catch {
            try Task.checkCancellation()
            throw SyncError(.network, "\(path): \(error)")
        }
        guard response.headers.first(name: "Content-Encoding") == "gzip" else {
            throw SyncError(.invalid, "\(path): an answer that is not compressed", status: Int(response.status.code))
        }
        do {
            return (response, Data(try Gzip.decompress(answer, limit: 4 << 20)))
        } catch {
            throw SyncError(.invalid, "\(path): \(error)")
        }
    }

    private func request(_ body: [UInt8], _ path: String) -> HTTPClientRequest {
        var request = HTTPClientRequest(url: address + path)
        request.method = .POST
        request.headers.add(name: "Content-Type", value: "application/json")
        request.headers.add(name: "Content-Encoding", value: "gzip")
        request.headers.add(name: "Accept-Encoding", value: "gzip")
        request.body = .bytes(ByteBuffer(bytes: body))
        return request
    }
}
