import Foundation
import RedisClient
import Synchronization

/// A real redis-server of a test process, in a folder of its own, on a unix socket and a loopback port if requested.
///
/// The server ends with the test process, even after a crash (``WatchedProcess``).
package final class TestServer: Sendable {
    package struct Options: Sendable {
        /// Lines of redis.conf, for example `maxmemory 10mb`.
        package var lines: [String]
        /// A loopback TCP port besides the socket; 0 = none.
        package var port: Int
        /// Whether to run as a sentinel, which handles other commands than a server.
        package var isSentinel = false
        /// Whether the server has the users of ``TestUsers`` if those are on. Without them, a test makes its own users.
        package var hasUsers = true
        /// The certificates; if set, the port accepts TLS only.
        package var certificates: TestCertificates?
        /// The longest time for a start.
        package var patience: Duration

        package init(_ lines: [String] = [], port: Int = 0, patience: Duration = .seconds(180)) {
            self.lines = lines
            self.port = port
            self.patience = patience
        }

        /// Whether the users are used. A password of the test, or a cluster whose nodes do not share users, takes
        /// precedence.
        fileprivate var withUsers: Bool {
            TestUsers.areOn && hasUsers && !isSentinel
                && !lines.contains { $0.hasPrefix("requirepass ") || $0.hasPrefix("cluster-enabled ") }
        }

        /// An append-only file, written at every command: acknowledged writes survive a `kill -9`.
        package static let durable = Options(["appendonly yes", "appendfsync always"])
    }

    /// The shared server of a test process. Tests use separate namespaces, and never flush, reconfigure or stop it.
    package static let shared: TestServer = {
        do { return try TestServer.start() } catch { fatalError("the tests need redis-server: \(error)") }
    }()

    package let directory: String
    package let options: Options
    private let process: Mutex<Watched>

    package var socketPath: String { directory + "/redis.sock" }
    package var endpoint: RedisEndpoint { withUser(.unix(path: socketPath)) }
    /// The TCP endpoint, if a port was requested.
    package var tcpEndpoint: RedisEndpoint { withUser(.tcp(host: "127.0.0.1", port: options.port)) }

    /// Returns the URL for a program in this role, if the tests use users.
    package func url(as role: TestUsers.Role) -> String { TestUsers.url("unix://\(socketPath)", as: role) }

    var hasUsers: Bool { options.withUsers }

    private struct Watched: Sendable {
        var process: WatchedProcess
        var isEnded = false
    }

    private init(directory: String, options: Options, watched: Watched) {
        self.directory = directory
        self.options = options
        process = Mutex(watched)
    }

    /// Starts a server and waits until it answers.
    package static func start(_ options: Options = Options()) throws -> TestServer {
        let directory = try makeTemporaryFolder()
        let server = TestServer(directory: directory, options: options, watched: try launch(in: directory, options))
        try server.awaitPong()
        if server.hasUsers { TestUsers.add(server) } else { TestUsers.forget(server) }
        return server
    }

    // MARK: Life

    package var isRunning: Bool { process.withLock { !$0.isEnded } }

    package var pid: Int32 { process.withLock { $0.process.pid } }

    /// Sends a signal to the server itself: SIGKILL, SIGSTOP, SIGCONT, SIGTERM.
    package func signal(_ number: Int32) { kill(pid, number) }

    /// Kills the server with `kill -9` and waits for its end. The folder stays, so that `restart()` finds the data.
    package func crash() {
        if hasUsers, process.withLock({ !$0.isEnded }) { TestUsers.collect(from: self) }
        process.withLock { Self.end(&$0) }
    }

    /// Starts the server again in its folder.
    package func restart() throws {
        crash()
        unlink(socketPath)
        let next = try Self.launch(in: directory, options)
        process.withLock { $0 = next }
        try awaitPong()
    }

    /// Ends the server and removes its folder.
    package func stop() {
        crash()
        try? FileManager.default.removeItem(atPath: directory)
    }

    deinit { stop() }

    // MARK: Commands

    /// Sends commands over a separate connection, from a thread that may block. Error replies keep their places.
    @discardableResult
    package func ask(_ commands: RedisCommand...) throws -> [RedisValue] {
        let replies = try RedisProbe.ask(administrator, commands, timeout: .seconds(60))
        Seen.note(replies: replies)
        return replies
    }

    /// Returns one field of INFO.
    package func info(_ field: String) throws -> String? {
        let text = try ask(RedisCommand("INFO", "all"))[0].expectString()
        let line = text.split(whereSeparator: \.isNewline).first { $0.hasPrefix(field + ":") }
        return line.map { String($0.dropFirst(field.count + 1)) }
    }

    /// Returns the entries of ACL LOG and empties it.
    func takeAccessLog() throws -> [RedisValue] {
        let commands = [RedisCommand("ACL", "LOG", 128), RedisCommand("ACL", "LOG", "RESET")]
        return try RedisProbe.ask(administrator, commands, timeout: .seconds(5))[0].expectArray()
    }

    private func withUser(_ endpoint: RedisEndpoint) -> RedisEndpoint {
        guard hasUsers else { return endpoint }
        var endpoint = endpoint
        (endpoint.user, endpoint.password) = (TestUsers.tester, TestUsers.password)
        return endpoint
    }

    /// The endpoint of an administrator, with the password of the `requirepass` line if the options have one.
    private var administrator: RedisEndpoint {
        guard !hasUsers else { return endpoint }
        var endpoint = endpoint
        let prefix = "requirepass "
        endpoint.password = options.lines.first { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
        return endpoint
    }

    // MARK: Launching

    private static func launch(in directory: String, _ options: Options) throws -> Watched {
        let configuration = directory + "/redis.conf"
        try (lines(directory, options).joined(separator: "\n") + "\n")
            .write(toFile: configuration, atomically: true, encoding: .utf8)
        let mode = options.isSentinel ? ["--sentinel"] : []
        return Watched(process: try WatchedProcess.start("redis-server", [configuration] + mode))
    }

    /// Whether the server has ended by itself, for example because another process took its port. The watchdog has not
    /// reaped it then.
    private var hasDied: Bool { state.map { $0 == "Z" } ?? true }

    /// Whether a test has stopped the server with SIGSTOP, so that it answers nothing.
    var isStopped: Bool { state == "T" }

    /// The state of the process as Linux shows it; nil = there is no such process.
    private var state: Character? {
        #if os(Linux)
            let line = (try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)) ?? ""
            return line.split(separator: ")").last?.dropFirst().first
        #else
            return "S"
        #endif
    }

    private static func end(_ watched: inout Watched) {
        guard !watched.isEnded else { return }
        watched.isEnded = true
        watched.process.finish()
    }

    private static func lines(_ directory: String, _ options: Options) -> [String] {
        var lines = [
            "port \(options.certificates == nil ? options.port : 0)", "bind 127.0.0.1",
            "unixsocket \(directory)/redis.sock", "unixsocketperm 700",
            "dir \(directory)", "logfile \(directory)/redis.log",
        ]
        lines += options.certificates?.lines(port: options.port) ?? []
        if options.isSentinel { return lines + options.lines }
        lines += ["save \"\"", "maxmemory-policy noeviction"]
        if majorVersion >= 7 { lines.append("enable-debug-command yes") }
        return lines + (options.withUsers ? TestUsers.lines : []) + options.lines
    }

    /// The major version of the installed redis-server.
    package static let majorVersion: Int = {
        let text = (try? run("redis-server", ["--version"])) ?? ""
        return text.firstMatch(of: /v=(\d+)/).flatMap { Int($0.1) } ?? 0
    }()

    private func awaitPong() throws {
        let answers = comesTrueBlocking(within: options.patience) {
            if hasDied { return true }
            guard let reply = try? ask(RedisCommand("PING"))[0] else { return false }
            return reply.error?.code != .loading
        }
        guard !answers || hasDied else { return }
        let log = (try? String(contentsOfFile: directory + "/redis.log", encoding: .utf8)) ?? "no log"
        throw CommandFailed(description: "redis-server did not start: \(log.suffix(2_000))")
    }
}
