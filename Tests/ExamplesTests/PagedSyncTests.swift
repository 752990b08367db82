import AsyncHTTPClient
import ExampleServer
import Foundation
import Logging
import Operations
import Sluice
import Synchronization
import TestSupport
import Testing

@testable import ContactSync

/// A server, and a client with a store and a screen.
@MainActor
private struct Setup {
    let site: SyncServer
    let server: ExampleServer
    let folder: TemporaryDirectory
    let store: Store
    let api: ContactsAPI
    let interface = Interface()
    let failures = Failures()

    init(contacts: Int = 20, intervene: @escaping SyncServer.Intervention = { _, _ in nil }) async throws {
        site = SyncServer(contacts: contacts, intervene: intervene)
        server = try await site.serve()
        folder = try TemporaryDirectory()
        store = try Store(folder: folder.url)
        api = ContactsAPI(address: server.address)
    }

    func synchronizer(timeout: Duration = Synchronizer.requestTimeout) -> Synchronizer {
        Synchronizer(api: api, store: store, timeout: timeout, refresh: interface.refresh, report: failures.add)
    }

    func end() async throws {
        try await server.stop()
    }
}

// One after the other: a broadcast reaches every synchronizer of the process.
@Suite("Paged sync", .serialized, .timeLimit(.minutes(1)))
struct PagedSyncTests {
    @Test("The program ends with 0, and all that it claims holds")
    func program() async throws {
        let outcome = try await Program.run("paged-sync", [])
        #expect(outcome.code == 0, "\(outcome.output)\(outcome.errors)")
        #expect(outcome.output.split(separator: "\n").filter { $0.hasPrefix("✓") }.count == 10)
    }

    /// Does not answer the first request for a page, until the client is gone.
    private static func holding(after page: Int, _ reached: Latch) -> SyncServer.Intervention {
        { request, earlier in
            guard request.after == page, earlier == 0 else { return nil }
            reached.open()
            await Latch().wait()
            return nil
        }
    }

    // MARK: Kill

    @Test(
        "A process that is killed with SIGKILL in a page is followed by one that begins with it",
        arguments: [0, 5, 15]
    )
    func killed(page: Int) async throws {
        let (reached, folder) = (Latch(), try TemporaryDirectory())
        let site = SyncServer(contacts: 20, intervene: Self.holding(after: page, reached))
        let server = try await site.serve()
        let arguments = ["--server", server.address, "--store", folder.url.path]
        let first = try Program("paged-sync", arguments)
        await reached.wait()
        first.send(SIGKILL)
        #expect(await first.outcome().code == 128 + SIGKILL)
        #expect(try Store(folder: folder.url).checkpoint == page)
        let second = try await Program.run("paged-sync", arguments)
        #expect(second.code == 0, "\(second.errors)")
        let asked = site.requests.map(\.after)
        let pages = [0, 5, 10, 15]
        #expect(asked == pages.filter { $0 <= page } + pages.filter { $0 >= page })
        #expect(try Store(folder: folder.url).contacts == site.contacts)
        try await server.stop()
    }

    @Test("Killed again and again, wherever it is, it gets every contact once")
    func killedAnywhere() async throws {
        let folder = try TemporaryDirectory()
        let site = SyncServer(contacts: 60)
        let server = try await site.serve()
        let arguments = ["--server", server.address, "--store", folder.url.path]
        for round in 1...4 {
            let seen = site.requests.count
            let program = try Program("paged-sync", arguments)
            try await eventually("it asks") { site.requests.count >= seen + round || program.hasEnded }
            program.send(SIGKILL)
            _ = await program.outcome()
            let store = try Store(folder: folder.url)
            #expect(store.contacts == Array(site.contacts.prefix(store.checkpoint)))
        }
        #expect(try await Program.run("paged-sync", arguments).code == 0)
        let after = site.requests.map(\.after)
        #expect(after == after.sorted(), "it never goes back behind a stored page")
        #expect(try Store(folder: folder.url).contacts == site.contacts)
        try await server.stop()
    }

    @Test("A worker that is killed with SIGKILL in a page is followed by another one that begins with it")
    func killedWorker() async throws {
        let (reached, folder) = (Latch(), try TemporaryDirectory())
        let site = SyncServer(contacts: 20, intervene: Self.holding(after: 10, reached))
        let server = try await site.serve()
        let (endpoint, namespace) = (TestServer.shared.endpoint.description, uniqueNamespace("sync"))
        let environment = ["SLUICE_REDIS_URL": endpoint, "SLUICE_NAMESPACE": namespace]
        let arguments = ["worker", "-c", "1", "--lease", "1s"]
        let first = try Program("paged-sync-worker", arguments, environment: environment)
        let logger = Logger(label: "examples") { _ in SwiftLogNoOpLogHandler() }
        let sluice = try await SluiceClient.connect(to: endpoint, namespace: namespace, logger: logger)
        let handle = try await sluice.enqueue(ContactsSync(server: server.address, store: folder.url.path))
        await reached.wait()
        first.send(SIGKILL)
        #expect(await first.outcome().code == 128 + SIGKILL)
        let second = try Program("paged-sync-worker", arguments, environment: environment)
        #expect(try await handle.value == SyncSummary(uploaded: 0, pages: 2, contacts: 10))
        #expect(site.requests.map(\.after) == [0, 5, 10, 10, 15])
        #expect(try Store(folder: folder.url).contacts == site.contacts)
        second.send(SIGTERM)
        #expect(await second.outcome().code == 0)
        await sluice.close()
        try await server.stop()
    }

    @Test("A store that is in use is not opened a second time")
    func inUse() throws {
        let folder = try TemporaryDirectory()
        let store = try Store(folder: folder.url)
        #expect(throws: SyncError.self) { try Store(folder: folder.url) }
        #expect(try Store(folder: folder.url, isReader: true).checkpoint == store.checkpoint)
    }

    @Test("However short a journal is cut, the store is at the end of a page")
    func torn() async throws {
        let setup = try await Setup(contacts: 15)
        _ = try await setup.synchronizer().sync().value
        let journal = try Data(contentsOf: Store.file(in: setup.folder.url))
        let ends = journal.indices.filter { journal[$0] == UInt8(ascii: "\n") }.flatMap { [$0 - 1, $0, $0 + 1] }
        for length in ends + stride(from: 0, to: journal.count, by: 23) {
            let folder = try TemporaryDirectory()
            try journal.prefix(length).write(to: Store.file(in: folder.url))
            let store = try Store(folder: folder.url)
            #expect(store.checkpoint % 5 == 0)
            #expect(store.contacts == Array(setup.site.contacts.prefix(store.checkpoint)))
            try store.write(Change(id: "c1", name: "after"))
            #expect(try Store(folder: folder.url, isReader: true).pending == [Change(id: "c1", name: "after")])
        }
        try await setup.end()
    }

    // MARK: One at a time

    @Test("Of many syncs at once the latest wins; the others end cancelled and never meet")
    func latestWins() async throws {
        let setup = try await Setup()
        let synchronizer = await setup.synchronizer()
        var syncs: [ValueOperation<Synchronizer.Summary>] = []
        for count in 0..<20 {
            syncs.append(synchronizer.sync())
            if count.isMultiple(of: 5) {
                try await eventually("it has begun") { syncs[count].attempts > 0 || syncs[count].isFinished }
            }
        }
        #expect(try await syncs[19].value.pages <= 4)
        #expect(syncs.dropLast().allSatisfy { $0.state == .cancelled })
        #expect(setup.api.mostInFlight == 1)
        #expect(setup.store.mostWritersAtOnce == 1)
        #expect(setup.store.contacts == setup.site.contacts)
        #expect(await setup.interface.contacts == setup.site.contacts)
        #expect(setup.failures.list.isEmpty)
        try await setup.end()
    }

    @Test("A broadcast stops every synchronizer, and the next sync goes on at its page")
    func broadcast() async throws {
        let reached = [Latch(), Latch()]
        var setups: [Setup] = []
        for latch in reached {
            setups.append(try await Setup(intervene: Self.holding(after: 10, latch)))
        }
        var synchronizers: [Synchronizer] = []
        for setup in setups { synchronizers.append(await setup.synchronizer()) }
        let syncs = synchronizers.map { $0.sync() }
        for latch in reached { await latch.wait() }
        NotificationCenter.default.post(name: Synchronizer.stop, object: nil)
        for (setup, sync) in zip(setups, syncs) {
            #expect(try await sync.waitUntilFinished() == .cancelled)
            #expect(sync.cancelReason == "stopped by broadcast")
            #expect(await setup.interface.refreshes == 0)
        }
        for (setup, synchronizer) in zip(setups, synchronizers) {
            #expect(try await synchronizer.sync().value.pages == 2)
            #expect(setup.site.requests.map(\.after) == [0, 5, 10, 10, 15])
            #expect(await setup.interface.refreshes == 1)
            try await setup.end()
        }
    }

    @Test("Edits from everywhere are written one at a time, uploaded once, and come back with the pages")
    func edits() async throws {
        let setup = try await Setup()
        let synchronizer = await setup.synchronizer()
        let edits = await withTaskGroup(of: ValueOperation<Void>.self) { group in
            for number in 1...20 {
                group.addTask { synchronizer.edit(Change(id: "c\(number)", name: "new \(number)")) }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        for edit in edits { try await edit.value }
        #expect(setup.store.mostWritersAtOnce == 1)
        #expect(try await synchronizer.sync().value.uploaded == 20)
        #expect(try await synchronizer.sync().value == Synchronizer.Summary())
        #expect(setup.store.pending.isEmpty)
        #expect(setup.store.contacts.allSatisfy { $0.name.hasPrefix("new") })
        #expect(setup.store.contacts == setup.site.contacts)
        try await setup.end()
    }

    // MARK: What goes wrong

    private static let contact = Contact(id: "x", sequence: 6, name: "X")
    private static let lies = [
        Page(contacts: [], next: 5, hasNext: true), Page(contacts: [contact], next: 7, hasNext: false),
        Page(contacts: [contact, contact], next: 6, hasNext: false),
        Page(contacts: [Contact(id: "x", sequence: 5, name: "X")], next: 5, hasNext: false),
        Page(contacts: [Contact(id: "", sequence: 6, name: "X")], next: 6, hasNext: false),
        Page(contacts: (6...11).map { Contact(id: "x", sequence: $0, name: "X") }, next: 11, hasNext: false),
    ]

    @Test("A page that cannot be right is told and not stored", arguments: lies)
    func lie(page: Page) async throws {
        let setup = try await Setup { request, _ in request.after == 5 ? SyncServer.reply(200, page) : nil }
        try await expectFailure(setup, "invalid: a page after 5: ")
        #expect(setup.store.checkpoint == 5)
    }

    @Test("Answers that are no JSON, not compressed, damaged, or a refusal are told", arguments: 0..<5)
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
        let setup = try await Setup { _, _ in answers[number].0 }
        try await expectFailure(setup, answers[number].1)
        #expect(setup.site.requests.count == 1, "nothing of this is better the next time")
    }

    @Test("A busy server is asked again, three times in all, and then it is told")
    func busy() async throws {
        let setup = try await Setup { _, _ in
            SyncServer.reply(503, Refusal(error: "too busy"), headers: ["Retry-After": "0"])
        }
        try await expectFailure(setup, "refused: /sync: 503, too busy")
        #expect(setup.site.requests.count == 3)
    }

    @Test("A server that is not there is told")
    func unreachable() async throws {
        let setup = try await Setup()
        try await setup.server.stop()
        let error = await #expect(throws: SyncError.self) { try await setup.synchronizer().sync().value }
        #expect(error?.code == .network)
        #expect(setup.failures.list.count == 1)
    }

    @Test("A request that gets no answer meets its time limit, 30 s unless said otherwise, and it is told")
    func timeout() async throws {
        #expect(Synchronizer.requestTimeout == .seconds(30))
        let setup = try await Setup { _, _ in
            await Latch().wait()
            return nil
        }
        let synchronizer = await setup.synchronizer(timeout: .milliseconds(50))
        let error = await #expect(throws: OperationsError.self) { try await synchronizer.sync().value }
        #expect(error?.code == .timedOut)
        #expect(setup.failures.list.count == 1)
        #expect(synchronizer.network.operationCount == 0)
        try await setup.end()
    }

    @Test("The server takes only what is valid, and only gzip")
    func requests() async throws {
        let setup = try await Setup()
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

    @Test("gzip there and back; too long, damaged and cut bodies are found")
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

    private func expectFailure(_ setup: Setup, _ beginning: String) async throws {
        let error = await #expect(throws: SyncError.self) { try await setup.synchronizer().sync().value }
        #expect("\(try #require(error))".hasPrefix(beginning), "\(error.map { "\($0)" } ?? "")")
        #expect(setup.failures.list == [error.map { "\($0)" }])
        #expect(await setup.interface.refreshes == 0)
        try await setup.end()
    }

    private func post(_ setup: Setup, body: [UInt8], encoding: String = "gzip") async throws -> ExampleServer.Response {
        var request = HTTPClientRequest(url: setup.server.address + "/sync")
        request.method = .POST
        request.headers.add(name: "Content-Encoding", value: encoding)
        request.headers.add(name: "Accept-Encoding", value: "gzip")
        request.body = .bytes(body)
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(30))
        return ExampleServer.Response(Int(response.status.code))
    }
}
