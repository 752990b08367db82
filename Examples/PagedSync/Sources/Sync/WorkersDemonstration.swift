import ExampleBasics
import ExampleServer
import Foundation
import Operations
import Sluice

/// Four syncs of one store on workers: the third replaces two and is stopped by one cancel, the fourth finishes.
struct WorkersDemonstration {
    let folder: URL
    let sluice: SluiceClient
    private let contacts = 60
    private let watch = Stopwatch()

    init(folder: URL, sluice: SluiceClient) { (self.folder, self.sluice) = (folder, sluice) }

    func run() async throws -> Claims {
        let (reached, isReached) = AsyncStream<Int>.makeStream()
        let site = SyncServer(contacts: contacts) { request, earlier in
            guard earlier == 0, [20, 40].contains(request.after) else { return nil }
            // The server does not answer until the client is gone.
            isReached.yield(request.after)
            try? await Task.sleep(for: .seconds(600))
            return nil
        }
        let server = try await site.serve()
        let sync = ContactsSync(server: server.address, store: folder.path)
        let syncs = try await replacedAndStopped(sync, reached)
        var ends: [OperationState] = []
        for sync in syncs {
            for try await _ in sync.changes {}
            ends.append(try await sync.state())
        }
        say("first, second and third sync: " + ends.map(\.rawValue).joined(separator: ", "))
        let database = try await sluice.statistics(queue: "database")
        let before = site.requests.count
        let summary = try await start(sync).value
        say("fourth sync: finished with \(summary.pages) pages")
        try await server.stop()

        var claims = Claims()
        claims.claim("the latest wins", ends.prefix(2).allSatisfy { $0 == .cancelled }, "2 replaced")
        let left = database[state: .ready] + database[state: .executing]
        claims.claim("one cancel stops all of a sync", ends[2] == .cancelled && left == 0, "\(left) accesses left")
        let after = site.requests.map(\.after)
        claims.claim("the next sync goes on at its page", after.dropFirst(before).first == 40, "after \(after[before])")
        let store = try Store(folder: folder, isReader: true)
        claims.claim("each page is stored once", store.pages == contacts / 5, "\(store.pages)")
        claims.claim("store and server agree", store.contacts == site.contacts, "\(store.contacts.count) contacts")
        return claims
    }

    private func replacedAndStopped(
        _ sync: ContactsSync,
        _ reached: AsyncStream<Int>
    ) async throws -> [OperationHandle<ContactsSync>] {
        print("Workers sync \(contacts) contacts, five a page:")
        var syncs = [try await start(sync)]
        for await after in reached where after == 20 { break }
        say("the first sync waits for its page after 20; two more are enqueued")
        // Both are enqueued in one call. Otherwise the second sync might begin before the third one exists.
        let unique = EnqueueOptions.unique(UniqueKey(sync.key), ifExists: .replace)
        syncs += try await sluice.enqueue([sync, sync], .queue("sync"), unique)
        for await after in reached where after == 40 { break }
        say("the third sync waits for its page after 40, and is cancelled")
        try await syncs[2].cancel(reason: "stopped by one cancel")
        return syncs
    }

    private func start(_ sync: ContactsSync) async throws -> OperationHandle<ContactsSync> {
        try await sluice.keyed(queue: "sync").run(sync.key, ifExists: .replace, sync)
    }

    private func say(_ line: String) { print("  \(watch.text.padded(to: 7)) \(line)") }
}
