/// The user interface.
@MainActor
final class Interface {
    private(set) var contacts: [Contact] = []
    private(set) var refreshes = 0

    func refresh(_ contacts: [Contact]) {
        self.contacts = contacts
        refreshes += 1
    }
}
