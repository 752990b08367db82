import ContactSync
import SluiceCLI

/// A worker that syncs, with every verb of `sluice`: `paged-sync-worker enqueue contacts.sync server=http://… store=/…`
@main struct App {
    static func main() async { await SluiceMain.run { $0.register(ContactsSync.self) } }
}
