import ExampleServer
import TestTools

@testable import ContactSync

/// A server, and a client with a store and a screen.
@MainActor
struct PagedSyncSetup {
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

    func synchronizer(timeout: Duration = SyncRun.requestTimeout) -> Synchronizer {
        Synchronizer(api: api, store: store, timeout: timeout, refresh: interface.refresh, report: failures.add)
    }

    func end() async throws {
        try await server.stop()
    }
}
