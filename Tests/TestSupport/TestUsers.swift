import Foundation
import RedisClient
import Synchronization

/// The users with minimal permissions that `sluice config acl` prints, in each test server, with `SLUICE_TEST_USERS=1`.
///
/// Each program of a test then has the role that fits its command. The test itself is `tester`, and connections without
/// a user are refused. Redis logs every refused command in ACL LOG, which must stay empty: ``refusals()``.
package enum TestUsers {
    package enum Role: String, Sendable, CaseIterable { case producer, worker, monitor, `operator` }

    package static let areOn = ProcessInfo.processInfo.environment["SLUICE_TEST_USERS"] == "1"
    static let tester = "tester"
    static let password = "of-the-tests"

    /// Lines of redis.conf. The rules are printed for one namespace, which a pattern replaces, because each test has
    /// its own namespace.
    static let lines: [String] = {
        let program = Program.directory.appendingPathComponent("sluice").path
        let namespace = "namespace-of-a-test"
        let printed: String
        do { printed = try run(program, ["config", "acl", "-N", namespace]) } catch { fatalError("no users: \(error)") }
        let rules = printed.replacing(namespace, with: "*").replacing(">PASSWORD", with: ">\(password)")
        return [
            // No client can log in as this user, but it keeps its permissions: Redis 7.0 replays its append-only file
            // as this user.
            "user default off ~* &* +@all", "user \(tester) on >\(password) ~* &* +@all",
            // Replicas use this user, because they copy the users of their master.
            "masteruser \(tester)", "masterauth \(password)",
        ] + rules.split(separator: "\n").map(String.init)
    }()

    // MARK: Roles

    /// Returns the role that fits a command of `sluice`; `operator` for commands that change things.
    static func role(of arguments: [String]) -> Role {
        let words = arguments.filter { !$0.hasPrefix("-") }
        switch words.first {
        case "worker": return .worker
        case "enqueue", "wait", "result": return .producer
        case "list", "ls", "show", "stats", "stat", "monitor", "logs", "events", "errors", "explain", "graph", "top",
            "complete",
            nil:
            return .monitor
        case "group":
            switch words.dropFirst().first {
            case "ls", "list", "show": return .monitor
            case "cancel": return .operator
            default: return .producer
            }
        case "queue", "workers": return ["ls", "list", "show"].contains(words.dropFirst().first) ? .monitor : .operator
        default: return .operator
        }
    }

    /// Adds the user of a role to a URL. Only URLs of servers with users change, and only if they name no user or the
    /// tester.
    package static func url(_ url: String, as role: Role) -> String {
        guard areOn, let (scheme, credentials, rest) = parts(of: url), credentials.isEmpty || isTester(credentials),
            known.withLock({ $0.addresses.contains { rest.contains($0) } })
        else { return url }
        return "\(scheme)://sluice-\(role.rawValue):\(password)@\(rest)"
    }

    /// Returns the environment to start a program with.
    package static func environment(_ environment: [String: String], for arguments: [String]) -> [String: String] {
        var environment = environment
        for name in ["SLUICE_REDIS_URL", "REDIS_URL"] {
            environment[name] = environment[name].map { url($0, as: role(of: arguments)) }
        }
        return environment
    }

    /// Returns the credentials of a role as variables, for programs that take no URL.
    package static func credentials(of role: Role) -> [String: String] {
        areOn ? ["SLUICE_REDIS_USER": "sluice-\(role.rawValue)", "SLUICE_REDIS_PASSWORD": password] : [:]
    }

    /// Returns a shell line that calls `redis-cli` as the tester.
    package static func commandLine(_ line: String) -> String {
        areOn ? line.replacing("redis-cli ", with: "REDISCLI_AUTH=\(password) redis-cli --user \(tester) ") : line
    }

    private static func arguments(_ arguments: [String]) -> [String] {
        areOn ? arguments.map { url($0, as: role(of: arguments)) } : arguments
    }

    private static func isTester(_ credentials: Substring) -> Bool { credentials.hasPrefix(tester + ":") }

    private static func parts(of url: String) -> (scheme: Substring, credentials: Substring, rest: Substring)? {
        guard let separator = url.firstRange(of: "://") else { return nil }
        let rest = url[separator.upperBound...]
        guard let at = rest.lastIndex(of: "@") else { return (url[..<separator.lowerBound], "", rest) }
        return (url[..<separator.lowerBound], rest[..<at], rest[rest.index(after: at)...])
    }

    // MARK: Servers with users

    private struct Known: Sendable {
        /// The addresses of servers and of their proxies and sentinels, as in URLs.
        var addresses: Set<String> = []
        var servers: [Reference] = []
        var refusals: [String] = []
    }

    private struct Reference: Sendable { weak var server: TestServer? }

    private static let known = Mutex(Known())

    static func add(_ server: TestServer) {
        known.withLock { known in
            known.servers.removeAll { $0.server == nil }
            known.servers.append(Reference(server: server))
            known.addresses.insert(server.socketPath)
            if server.options.port != 0 { known.addresses.insert("127.0.0.1:\(server.options.port)") }
        }
        Program.change.withLock { change in
            change = { words, variables in
                variables = environment(variables, for: words)
                words = arguments(words)
            }
        }
    }

    /// Forgets the address of a server without users, which may have the port of an earlier server with users.
    static func forget(_ server: TestServer) {
        known.withLock { _ = $0.addresses.remove("127.0.0.1:\(server.options.port)") }
    }

    /// Adds the address of a proxy or a sentinel of a server with users.
    static func add(address port: Int) {
        known.withLock { _ = $0.addresses.insert("127.0.0.1:\(port)") }
    }

    // MARK: Refusals

    /// Returns the commands that Redis refused since the last call: to users of `config acl`, and to the default user
    /// that replays the append-only file.
    ///
    /// Asks the servers on a thread that may block: the threads of tasks are few, and all tests need them.
    package static func refusals() async -> [String] {
        let servers = known.withLock { $0.servers.compactMap(\.server) }
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                for server in servers { collect(from: server) }
                continuation.resume()
            }
        }
        return known.withLock { known in
            defer { known.refusals = [] }
            return known.refusals
        }
    }

    /// Collects refusals. Call this before a server ends, because its log ends with it. The log of a server that does
    /// not answer now is collected later.
    static func collect(from server: TestServer) {
        guard server.hasUsers, !server.isStopped, let log = try? server.takeAccessLog() else { return }
        let entries = log.compactMap(describe)
        known.withLock { $0.refusals += entries }
    }

    /// Describes an entry; nil = the entry is about a user that a test made itself, which may be refused.
    private static func describe(_ entry: RedisValue) -> String? {
        let words = entry.array ?? []
        var fields: [String: String] = [:]
        for index in stride(from: 0, to: words.count - 1, by: 2) {
            fields[words[index].string ?? ""] = words[index + 1].string ?? words[index + 1].int.map { "\($0)" }
        }
        let user = fields["username"] ?? ""
        guard user.hasPrefix("sluice-") || user == "default" else { return nil }
        let client = (fields["client-info"] ?? "").split(separator: " ")
            .filter { $0.hasPrefix("name=") || $0.hasPrefix("cmd=") }
        return
            "\(user) was refused \(fields["reason"] ?? "?") \(fields["object"] ?? "?") (\(fields["context"] ?? "?"), "
            + "\(fields["count"] ?? "?") times, \(client.joined(separator: " ")))"
    }
}
