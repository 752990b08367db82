import ArgumentParser
import ExampleBasics
import Foundation

/// The command line of `paged-sync`.
package struct SyncCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "paged-sync",
        abstract: "Keeps contacts in step with a server, page by page, whatever comes between.",
        discussion:
            "Alone it starts a server, is killed, stopped and lied to, and shows that nothing is lost. With --server it syncs once."
    )

    @Option(help: ArgumentHelp("Sync once with this server.", valueName: "http://HOST:PORT")) var server: String?
    @Option(help: ArgumentHelp("The folder of the store, for --server.", valueName: "folder")) var store: String?

    package init() {}

    package func validate() throws {
        guard (server == nil) == (store == nil) else { throw ValidationError("--server and --store belong together") }
    }

    package func run() async throws {
        if let server, let store {
            return try await syncOnce(server, URL(filePath: store, directoryHint: .isDirectory))
        }
        let folder = FileManager.default.temporaryDirectory.appending(path: "paged-sync-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let claims = try await Demonstration(folder: folder).run()
        print("\n\(claims.table)")
        if !claims.broken.isEmpty { throw ExitCode.failure }
    }

    @MainActor
    private func syncOnce(_ server: String, _ folder: URL) async throws {
        let (api, store, interface) = (ContactsAPI(address: server), try Store(folder: folder), Interface())
        print("the store has \(store.pages) pages")
        let synchronizer = Synchronizer(api: api, store: store, refresh: interface.refresh) { error in
            FileHandle.standardError.write(Data("error: \(error)\n".utf8))
        }
        let sync = synchronizer.sync()
        try await sync.waitUntilFinished()
        guard case .success(let summary) = sync.result else { throw ExitCode.failure }
        print("\(summary.uploaded) changes up; \(summary.pages) pages, \(summary.contacts) contacts down")
    }
}
