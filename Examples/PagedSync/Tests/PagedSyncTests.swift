import AsyncHTTPClient
import ExampleServer
import Foundation
import Operations
import Synchronization
import TestTools
import Testing

@testable import ContactSync

// The tests run one at a time, because a notification reaches every synchronizer of the process.
@Suite("Paged sync", .serialized, .timeLimit(.minutes(60)))
struct PagedSyncTests {
    @Test("The program exits with 0, and all its claims hold")
    func program() async throws {
        let outcome = try await Program.run("paged-sync", [])
        #expect(outcome.code == 0, "\(outcome.output)\(outcome.errors)")
        #expect(outcome.output.split(separator: "\n").filter { $0.hasPrefix("✓") }.count == 10)
    }

    /// Returns an intervention that holds the first request for a page, until the gate is open or the client is gone.
    static func holding(after page: Int, _ reached: Latch, until gate: Latch = Latch()) -> SyncServer.Intervention {
        { request, earlier in
            guard request.after == page, earlier == 0 else { return nil }
            reached.open()
            await gate.wait()
            return nil
        }
    }

    // MARK: Kill

    @Test(
        "After a process is killed in a page, the next process begins with this page",
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

    @Test("A process that is killed repeatedly, at any point, gets every contact once")
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

    @Test("A store in use cannot be opened a second time")
    func inUse() throws {
        let folder = try TemporaryDirectory()
        let store = try Store(folder: folder.url)
        #expect(throws: SyncError.self) { try Store(folder: folder.url) }
        #expect(try Store(folder: folder.url, isReader: true).checkpoint == store.checkpoint)
    }

    @Test("A journal cut at any length leaves the store at the end of a page")
    func torn() async throws {
        let setup = try await PagedSyncSetup(contacts: 15)
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

    @Test("The latest of many syncs wins, and the others end as cancelled without overlap")
    func latestWins() async throws {
        let gate = Latch()
        // No request is answered before all syncs exist, so only the latest can finish.
        let setup = try await PagedSyncSetup { _, _ in
            await gate.wait()
            return nil
        }
        let synchronizer = await setup.synchronizer()
        var syncs: [ValueOperation<Synchronizer.Summary>] = []
        for count in 0..<20 {
            syncs.append(synchronizer.sync())
            if count.isMultiple(of: 5) {
                try await eventually("it has begun") { syncs[count].attempts > 0 }
            }
        }
        gate.open()
        #expect(try await syncs[19].value.pages <= 4)
        #expect(syncs.dropLast().allSatisfy { $0.state == .cancelled })
        #expect(setup.api.mostInFlight == 1)
        #expect(setup.store.mostWritersAtOnce == 1)
        #expect(setup.store.contacts == setup.site.contacts)
        #expect(await setup.interface.contacts == setup.site.contacts)
        #expect(setup.failures.list.isEmpty)
        try await setup.end()
    }

    @Test("A notification stops every synchronizer, and the next sync continues at its page")
    func broadcast() async throws {
        let reached = [Latch(), Latch()]
        var setups: [PagedSyncSetup] = []
        for latch in reached {
            setups.append(try await PagedSyncSetup(intervene: Self.holding(after: 10, latch)))
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

    @Test("Concurrent edits are written one at a time, uploaded once, and come back with the pages")
    func edits() async throws {
        let setup = try await PagedSyncSetup()
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
}
