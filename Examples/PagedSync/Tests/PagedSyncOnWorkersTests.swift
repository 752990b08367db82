import ExampleServer
import ExampleTesting
import Foundation
import Sluice
import Synchronization
import Testing
import TestTools

@testable import ContactSync

@Suite("Paged sync on workers", .timeLimit(.minutes(60)))
struct PagedSyncOnWorkersTests {
    private static let worker = "paged-sync-worker"
    private let workers: RealWorkers
    private let folder: TemporaryDirectory

    init() async throws {
        workers = try await RealWorkers()
        folder = try TemporaryDirectory()
        try await workers.sluice.limit(queue: "database", .concurrency(1))
    }

    // MARK: The journal

    /// A line of the journal: a sync began, or stored a page.
    private struct Line: Decodable, Hashable {
        struct Page: Decodable, Hashable { let next: Int }
        let sync: String
        let page: Page?
    }

    private func journal() throws -> [Line] {
        let text = try String(contentsOf: Store.file(in: folder.url), encoding: .utf8)
        return try text.split(separator: "\n").map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
    }

    private static func lines(_ sync: OperationHandle<ContactsSync>, pages: Int...) -> [Line] {
        let id = sync.id.description
        return [Line(sync: id, page: nil)] + pages.map { Line(sync: id, page: .init(next: $0)) }
    }

    /// Starts a worker with a short lease, so that its operations soon run elsewhere when it is lost.
    private func worker() throws -> Program { try workers.start(Self.worker, "-c", "2", "--lease", "10") }

    private func start(_ server: ExampleServer) async throws -> OperationHandle<ContactsSync> {
        let sync = ContactsSync(server: server.address, store: folder.url.path)
        return try await workers.sluice.keyed(queue: "sync").run(sync.key, ifExists: .replace, sync)
    }

    private func accesses(_ state: OperationState) async throws -> Int {
        try await workers.sluice.statistics(queue: "database")[state: state]
    }

    // MARK: Tests

    @Test("The program exits with 0 on two workers, and all its checks pass")
    func program() async throws {
        let fleet = try (0..<2).map { _ in try workers.start(Self.worker, "-c", "2") }
        let outcome = try await workers.start("paged-sync", "--workers").outcome()
        #expect(outcome.code == 0, "\(outcome.output)\(outcome.errors)")
        #expect(outcome.output.split(separator: "\n").filter { $0.hasPrefix("✓") }.count == 5)
        for worker in fleet { await worker.stop() }
        await workers.close()
    }

    @Test(
        "After the worker of a sync is killed in a page, another worker continues, and each page is stored once"
    )
    func killed() async throws {
        let reached = Latch()
        let site = SyncServer(contacts: 20, intervene: PagedSyncTests.holding(after: 10, reached))
        let server = try await site.serve()
        let first = try worker()
        let program = try workers.start(
            "paged-sync",
            "--workers",
            "--server",
            server.address,
            "--store",
            folder.url.path
        )
        await reached.wait()
        let second = try worker()
        try await workers.awaitWorkers(2, queue: "sync")
        await first.kill()
        let outcome = await program.outcome()
        #expect(outcome.code == 0, "\(outcome.errors)")
        #expect(outcome.output.hasSuffix("0 changes up; 2 pages, 10 contacts down\n"))
        #expect(try await workers.recovered(queue: "sync") == 1)
        #expect(site.requests.map(\.after) == [0, 5, 10, 10, 15])
        #expect(try journal().map { $0.page?.next } == [nil, 5, 10, 15, 20])
        #expect(try Store(folder: folder.url).contacts == site.contacts)
        await second.stop()
        await workers.close()
        try await server.stop()
    }

    @Test("A replaced sync whose worker was killed writes nothing after the later sync has begun")
    func replacedAndKilled() async throws {
        let held = try await HeldServer(after: 10)
        let first = try worker()
        let replaced = try await start(held.server)
        await held.reached.wait()
        try await workers.sluice.pause(queue: "database")
        held.gate.open()
        try await eventually("its page waits for the store") { try await accesses(.ready) == 1 }
        let second = try worker()
        try await workers.awaitWorkers(2, queue: "sync")
        await first.kill()
        let latest = try await start(held.server)
        try await eventually("the later sync waits for the store, too") { try await accesses(.ready) == 2 }
        #expect(try await replaced.state() == .cancelled)
        try await workers.sluice.resume(queue: "database")
        #expect(try await latest.value == SyncSummary(uploaded: 0, pages: 1, contacts: 5))
        #expect(try journal() == Self.lines(replaced, pages: 5, 10, 15) + Self.lines(latest, pages: 20))

        // A later access of the replaced sync is refused.
        let page = Page(contacts: [Contact(id: "late", sequence: 21, name: "Late")], next: 21, hasNext: false)
        let late = StoreAccess(folder: folder.url.path, sync: replaced.id.description, step: .page(page, after: 20))
        let error = await #expect(throws: OperationsError.self) {
            try await workers.sluice.enqueue(late, .queue("database")).value
        }
        #expect(error?.message.contains("has been replaced by \(latest.id)") == true, "\(error.map { "\($0)" } ?? "")")
        #expect(try Store(folder: folder.url).contacts == held.site.contacts)
        await second.stop()
        await workers.close()
        try await held.server.stop()
    }

    @Test("The latest of three syncs wins, and the first ends before the last requests its page")
    func latestWins() async throws {
        let (reached, executing) = (Latch(), Count())
        let hold = PagedSyncTests.holding(after: 5, reached)
        let sluice = workers.sluice
        let site = SyncServer(contacts: 20) { request, earlier in
            if request.after == 5, earlier == 1 {
                executing.set(try? await sluice.statistics(queue: "sync")[state: .executing])
            }
            return await hold(request, earlier)
        }
        let server = try await site.serve()
        let fleet = try (0..<2).map { _ in try workers.start(Self.worker, "-c", "2") }
        let first = try await start(server)
        await reached.wait()
        // Both are enqueued in one call. Otherwise the second sync might begin before the third one exists.
        let sync = ContactsSync(server: server.address, store: folder.url.path)
        let unique = EnqueueOptions.unique(UniqueKey(sync.key), ifExists: .replace)
        let later = try await workers.sluice.enqueue([sync, sync], .queue("sync"), unique)
        let (second, third) = (later[0], later[1])
        #expect(try await third.value == SyncSummary(uploaded: 0, pages: 3, contacts: 15))
        for replaced in [first, second] {
            let error = await #expect(throws: OperationsError.self) { try await replaced.value }
            #expect(error?.code == .cancelled)
        }
        // The server may still count a request that was given up as open. Redis knows which syncs run.
        #expect(executing.value == 1)
        #expect(site.requests.map(\.after) == [0, 5, 5, 10, 15])
        #expect(try journal() == Self.lines(first, pages: 5) + Self.lines(third, pages: 10, 15, 20))
        for worker in fleet { await worker.stop() }
        await workers.close()
        try await server.stop()
    }

    @Test("One cancel ends a sync and its access to the store, and the next sync continues at its page")
    func stopped() async throws {
        let held = try await HeldServer(after: 10)
        let fleet = try (0..<2).map { _ in try workers.start(Self.worker, "-c", "2") }
        let stopped = try await start(held.server)
        await held.reached.wait()
        try await workers.sluice.pause(queue: "database")
        held.gate.open()
        try await eventually("its page waits for the store") { try await accesses(.ready) == 1 }
        #expect(try await stopped.cancel(reason: "enough") != .unknown)
        let error = await #expect(throws: OperationsError.self) { try await stopped.value }
        #expect(error?.code == .cancelled)
        #expect(try await accesses(.ready) == 0)
        #expect(try await accesses(.cancelled) == 1)
        try await workers.sluice.resume(queue: "database")
        let next = try await start(held.server)
        #expect(try await next.value == SyncSummary(uploaded: 0, pages: 2, contacts: 10))
        #expect(try journal() == Self.lines(stopped, pages: 5, 10) + Self.lines(next, pages: 15, 20))
        for worker in fleet { await worker.stop() }
        await workers.close()
        try await held.server.stop()
    }

    @Test("A worker that was frozen for longer than its lease changes nothing afterwards")
    func frozen() async throws {
        let held = try await HeldServer(after: 10)
        let first = try worker()
        let sync = try await start(held.server)
        await held.reached.wait()
        first.send(SIGSTOP)
        let second = try worker()
        #expect(try await sync.value == SyncSummary(uploaded: 0, pages: 2, contacts: 10))
        held.gate.open()
        first.send(SIGCONT)
        await first.stop()
        #expect(try journal() == Self.lines(sync, pages: 5, 10, 15, 20))
        #expect(try Store(folder: folder.url).contacts == held.site.contacts)
        await second.stop()
        await workers.close()
        try await held.server.stop()
    }

    @Test("A repeated access writes once, and an access of a replaced sync writes nothing")
    func repeated() throws {
        let store = try Store(folder: folder.url)
        let pages = [1, 2].map {
            Page(contacts: [Contact(id: "c\($0)", sequence: $0, name: "C")], next: $0, hasNext: true)
        }
        #expect(try store.perform(.begin, of: "a").checkpoint == 0)
        for _ in 1...2 { #expect(try store.perform(.page(pages[0], after: 0), of: "a").checkpoint == 1) }
        #expect(throws: SyncError.self) {
            try store.perform(.page(Page(contacts: [], next: 9, hasNext: false), after: 8), of: "a")
        }
        for _ in 1...2 { #expect(try store.perform(.begin, of: "b").checkpoint == 1) }
        #expect(throws: SyncError.self) { try store.perform(.page(pages[1], after: 1), of: "a") }
        #expect(throws: SyncError.self) { try store.perform(.uploaded([]), of: "a") }
        #expect(try store.perform(.page(pages[1], after: 1), of: "b").checkpoint == 2)
        #expect(try journal().map { $0.page?.next } == [nil, 1, nil, 2])
        #expect(try Store(folder: folder.url, isReader: true).checkpoint == 2)
    }
}

/// A number that a server reads while a test runs.
private final class Count: Sendable {
    private let number = Mutex<Int?>(nil)

    var value: Int? { number.withLock { $0 } }

    func set(_ value: Int?) { number.withLock { $0 = value } }
}

/// A server with 20 contacts that answers the first request for a page when the gate is open.
private struct HeldServer {
    let reached = Latch()
    let gate = Latch()
    let site: SyncServer
    let server: ExampleServer

    init(after page: Int) async throws {
        site = SyncServer(contacts: 20, intervene: PagedSyncTests.holding(after: page, reached, until: gate))
        server = try await site.serve()
    }
}
