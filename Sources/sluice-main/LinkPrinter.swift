import Operations
import SluiceCLI
import Synchronization

/// Prints the address of a dashboard and its login links.
final class LinkPrinter: Sendable {
    private let invocation: Invocation
    private let makeLink = Mutex<(@Sendable () -> String)?>(nil)

    init(_ invocation: Invocation) { self.invocation = invocation }

    /// Prints the address and the first link.
    ///
    /// - Parameter makeLink: makes a link that works once; nil = there are none.
    func begin(_ address: String, isOpen: Bool, makeLink: (@Sendable () -> String)?) {
        let console = invocation.console
        let login = makeLink?()
        if invocation.format.isJSON {
            console.print(["v": 1, "url": .string(address), "login": JSONValue(login)], .jsonl)
        } else {
            console.print("dashboard: \(address)")
            if let login { console.print("log in once: \(login)") }
        }
        if isOpen { return console.warn("everyone who can connect is an admin (--insecure-no-auth)") }
        self.makeLink.withLock { $0 = makeLink }
    }

    /// Prints the next link, after one was used.
    func printNext(_ event: String) {
        guard let link = makeLink.withLock({ $0 })?() else { return }
        let console = invocation.console
        if invocation.format.isJSON { return console.print(["v": 1, "login": .string(link)], .jsonl) }
        console.print("\(event); the next login: \(link)")
    }
}
