import AsyncHTTPClient
import ExampleServer
import Foundation
import Operations
import TestTools
import Testing

@testable import ContactSync

// Failures: each is reported, and nothing from it is stored.
extension PagedSyncTests {
    private static let contact = Contact(id: "x", sequence: 6, name: "X")
    private static let lies = [
        Page(contacts: [], next: 5, hasNext: true), Page(contacts: [contact], next: 7, hasNext: false),
        Page(contacts: [contact, contact], next: 6, hasNext: false),
        Page(contacts: [Contact(id: "x", sequence: 5, name: "X")], next: 5, hasNext: false),
        Page(contacts: [Contact(id: "", sequence: 6, name: "X")], next: 6, hasNext: false),
        Page(contacts: (6...11).map { Contact(id: "x", sequence: $0, name: "X") }, next: 11, hasNext: false),
    ]

    @Test("An invalid page is reported and not stored", arguments: lies)
    func lie(page: Page) async throws {
        let setup = try await PagedSyncSetup { request, _ in request.after == 5 ? SyncServer.reply(200, page) : nil }
        try await expectFailure(setup, "invalid: a page after 5: ")
        #expect(setup.store.checkpoint == 5)
    }

    @Test("Invalid, uncompressed, damaged and refusing answers are reported", arguments: 0..<5)
    func answers(number: Int) async throws {
        let gzip = ["Content-Encoding": "gzip"]
        let answers: [(ExampleServer.Response, String)] = [
            (SyncServer.reply(200, "hello"), "invalid: /sync: "),
            (ExampleServer.Response(200, body: Array("{}".utf8)), "invalid: /sync: an answer that is not compressed"),
            (ExampleServer.Response(200, headers: gzip, body: [1, 2, 3]), "invalid: /sync: not a whole gzip body"),
            (SyncServer.reply(403, Refusal(error: "go away")), "refused: /sync: 403, go away"),
            (
                SyncServer.reply(200, String(repeating: "a", count: 5 << 20)),
                "invalid: /sync: a body of more than 4194304 bytes"
            ),
        ]
        let setup = try await PagedSyncSetup { _, _ in answers[number].0 }
        try await expectFailure(setup, answers[number].1)
        #expect(setup.site.requests.count == 1, "nothing of this is better the next time")
    }

    @Test("A busy server is asked three times, then the failure is reported")
    func busy() async throws {
        let setup = try await PagedSyncSetup { _, _ in
            SyncServer.reply(503, Refusal(error: "too busy"), headers: ["Retry-After": "0"])
        }
        try await expectFailure(setup, "refused: /sync: 503, too busy")
        #expect(setup.site.requests.count == 3)
    }

    @Test("An unreachable server is reported")
    func unreachable() async throws {
        let setup = try await PagedSyncSetup()
        try await setup.server.stop()
        let error = await #expect(throws: SyncError.self) { try await setup.synchronizer().sync().value }
        #expect(error?.code == .network)
        #expect(setup.failures.list.count == 1)
    }

    @Test("A request without an answer ends at its time limit, a minute by default, and the failure is reported")
    func timeout() async throws {
        #expect(SyncRun.requestTimeout == .seconds(60))
        let setup = try await PagedSyncSetup { _, _ in
            await Latch().wait()
            return nil
        }
        let synchronizer = await setup.synchronizer(timeout: .milliseconds(50))
        let error = await #expect(throws: OperationsError.self) { try await synchronizer.sync().value }
        #expect(error?.code == .timedOut)
        #expect(setup.failures.list.count == 1)
        #expect(synchronizer.requests.network.operationCount == 0)
        try await setup.end()
    }

    @Test("The server accepts only valid and gzipped requests")
    func requests() async throws {
        let setup = try await PagedSyncSetup()
        for request in [PageRequest(after: -1, limit: 5), PageRequest(after: 0, limit: 0), .init(after: 0, limit: 501)]
        {
            let json = Array(try JSONEncoder().encode(request))
            #expect(try await post(setup, body: try Gzip.compress(json)).status == 400)
        }
        #expect(try await post(setup, body: try Gzip.compress(Array("{".utf8))).status == 400)
        #expect(try await post(setup, body: [1, 2, 3]).status == 400)
        #expect(try await post(setup, body: Array("{}".utf8), encoding: "identity").status == 415)
        #expect(setup.site.uncompressed == 1)
        #expect(setup.site.requests.isEmpty)
        try await setup.end()
    }

    @Test("A gzip round trip returns the bytes, and too long, damaged or cut bodies are refused")
    func gzip() throws {
        for count in [0, 1, 1000, 100_000] {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * $0 / 7) }
            let compressed = try Gzip.compress(bytes)
            #expect(try Gzip.decompress(compressed, limit: count) == bytes)
            #expect(throws: Gzip.Damaged.self) { try Gzip.decompress(compressed.dropLast(), limit: count) }
            if count > 0 {
                #expect(throws: Gzip.Damaged.self) { try Gzip.decompress(compressed, limit: count - 1) }
            }
            #expect(throws: Gzip.Damaged.self) { try Gzip.decompress(compressed + [0], limit: count) }
        }
    }

    private func expectFailure(_ setup: PagedSyncSetup, _ beginning: String) async throws {
        let error = await #expect(throws: SyncError.self) { try await setup.synchronizer().sync().value }
        #expect("\(try #require(error))".hasPrefix(beginning), "\(error.map { "\($0)" } ?? "")")
        #expect(setup.failures.list == [error.map { "\($0)" }])
        #expect(await setup.interface.refreshes == 0)
        try await setup.end()
    }

    private func post(_ setup: PagedSyncSetup, body: [UInt8], encoding: String = "gzip") async throws
        -> ExampleServer.Response
    {
        var request = HTTPClientRequest(url: setup.server.address + "/sync")
        request.method = .POST
        request.headers.add(name: "Content-Encoding", value: encoding)
        request.headers.add(name: "Accept-Encoding", value: "gzip")
        request.body = .bytes(body)
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(30))
        return ExampleServer.Response(Int(response.status.code))
    }
}
