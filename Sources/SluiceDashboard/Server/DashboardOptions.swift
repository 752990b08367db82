import Operations
import SluiceOperator

/// The settings of a dashboard.
package struct DashboardOptions: Sendable {
    /// The address to listen on.
    package var host: String
    /// The port to listen on; 0 = a free one.
    package var port: Int
    /// The path before every URL: empty, or `/jobs`.
    package var basePath: String
    /// Whether nothing can be changed.
    package var isReadOnly: Bool
    /// Whether every visitor is an administrator without a login.
    package var isOpen: Bool
    /// The people who may log in with tokens, and the roles of names that a proxy gives.
    package var users: Users
    /// The proxies that give names; nil = none.
    package var proxy: ProxyRule?
    /// Whether an app serves the dashboard, and decides about hosts and people.
    package var isMounted: Bool
    /// Further names that may stand in the `Host` header.
    package var hosts: [String]
    /// The shortest time between two reads of Redis.
    package var interval: Duration
    /// The longest time that a page waits for Redis.
    var patience = SnapshotLoop.patience
    /// How long this process alone performs a change, unless it renews the lease.
    var changeLease = ChangeJobRun.lease
    /// The keys that read arguments, and the values to hide.
    package var view: PayloadView
    package var namespace: String
    /// The Redis server, without its password.
    package var place: String
    /// The name that changes are recorded with, for visitors without a name of their own.
    package var identity: String

    package init(host: String = "127.0.0.1", port: Int = 4650, namespace: String, identity: String) {
        (self.host, self.port, self.namespace, self.identity) = (host, port, namespace, identity)
        basePath = ""
        isReadOnly = false
        isOpen = false
        isMounted = false
        users = Users()
        hosts = []
        interval = .seconds(1)
        view = PayloadView()
        place = ""
    }

    /// The name of this machine.
    var machine: String { identity.split(separator: "@").last.map(String.init) ?? "" }

    /// Whether only programs on this machine can connect.
    package var isLoopback: Bool {
        ["localhost", "::1"].contains(host) || host.wholeMatch(of: /127(\.\d{1,3}){3}/) != nil
    }

    /// The path before every URL, from a typed one: `jobs`, `/jobs` and `/jobs/` are the same.
    ///
    /// - Returns: nil if the path has other characters than letters, digits, `-`, `_`, `.` and `/`, or an empty part.
    package static func basePath(_ typed: String) -> String? {
        let parts = typed.split(separator: "/", omittingEmptySubsequences: true)
        let isPlain = parts.allSatisfy { part in
            ![".", ".."].contains(part)
                && part.utf8.allSatisfy { byte in
                    let character = Character(Unicode.Scalar(byte))
                    return byte < 0x80 && (character.isLetter || character.isNumber || "-_.".contains(character))
                }
        }
        guard isPlain else { return nil }
        return parts.map { "/" + $0 }.joined()
    }
}
