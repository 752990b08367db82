import ArgumentParser
import ExampleBasics
import Foundation
import Operations
import Sluice

/// The command line of `paged-sync`.
package struct SyncCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "paged-sync",
        abstract: "Keeps contacts in step with a server, page by page, whatever comes between.",
        discussion: """
            Alone it starts a server, is killed, stopped and lied to, and shows that nothing is lost. With --server it syncs once.

            With --workers the syncs run on workers: start them with "paged-sync-worker". SLUICE_REDIS_URL names the Redis; without \
            it, the embedded server is used.
            """
    )

    @Option(help: ArgumentHelp("Sync once with this server.", valueName: "http://HOST:PORT")) var server: String?
    @Option(help: ArgumentHelp("The folder of the store, for --server.", valueName: "folder")) var store: String?
    @Flag(help: "Run the syncs on workers.") var workers = false

    package init() {}

    package func validate() throws {
        guard (server == nil) == (store == nil) else { throw ValidationError("--server and --store belong together") }
    }

    package func run() async throws {
        if let server, let store {
            // Workers have another working directory, so the path must be absolute.
            return try await syncOnce(server, URL(filePath: store, directoryHint: .isDirectory).standardizedFileURL)
        }
        let folder = FileManager.default.temporaryDirectory.appending(path: "paged-sync-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let claims =
            if workers {
                try await WorkersDemonstration(folder: folder, sluice: Self.connect()).run()
            } else {
                try await Demonstration(folder: folder).run()
            }
        print("\n\(claims.table)")
        if !claims.broken.isEmpty { throw ExitCode.failure }
    }

    private func syncOnce(_ server: String, _ folder: URL) async throws {
        print("the store has \(try Store(folder: folder, isReader: true).pages) pages")
        let sync = ContactsSync(server: server, store: folder.path)
        let summary = try await run(sync)
        print("\(summary.uploaded) changes up; \(summary.pages) pages, \(summary.contacts) contacts down")
    }

    private func run(_ sync: ContactsSync) async throws -> SyncSummary {
        guard workers else {
            let here = LocalOperationQueue(name: "sync")
            return try await here.add(sync).value  // in this process
        }
        let syncs = try await Self.connect().keyed(queue: "sync")
        return try await syncs.run(sync.key, ifExists: .replace, sync).value  // on any worker
    }

    private static func connect() async throws -> SluiceClient {
        let sluice = try await SluiceClient.connect(.fromEnvironment(otherwise: .embedded))
        // Limits all workers together to one access to the store at a time.
        try await sluice.limit(queue: "database", .concurrency(1))
        return sluice
    }
}
