import Foundation
import RedisClient
import Synchronization

/// A real redis-server of a test process: in a folder of its own, on a unix socket (and a loopback port if asked for).
///
/// It dies with the test process, however that ends: a watchdog shell holds a pipe from it and kills the server when the
/// pipe closes.
package final class TestServer: Sendable {
    package struct Options: Sendable {
        /// Lines of redis.conf, for example `maxmemory 10mb`.
        package var lines: [String]
        /// A loopback TCP port besides the socket; 0 for none.
        package var port: Int
        /// Run as a sentinel, which does not do what a server does.
        package var isSentinel = false
        /// Whether it has the users of ``TestUsers`` when those are on. Without them a test makes its own.
        package var hasUsers = true
        /// With these the port speaks TLS only.
        package var certificates: TestCertificates?
        /// How long a start may take.
        package var patience: Duration

        package init(_ lines: [String] = [], port: Int = 0, patience: Duration = .seconds(180)) {
            self.lines = lines
            self.port = port
            self.patience = patience
        }

        /// A password of its own, or nodes that know nothing of each other's users, go before.
        fileprivate var withUsers: Bool {
            TestUsers.areOn && hasUsers && !isSentinel
                && !lines.contains { $0.hasPrefix("requirepass ") || $0.hasPrefix("cluster-enabled ") }
        }

        /// Append-only file, written at every command: what was acknowledged survives a `kill -9`.
        package static let durable = Options(["appendonly yes", "appendfsync always"])
    }

    /// The server of a test process. Tests use namespaces of their own, and never flush, reconfigure or stop it.
    package static let shared: TestServer = {
        do { return try TestServer.start() } catch { fatalError("the tests need redis-server: \(error)") }
    }()

    package let directory: String
    package let options: Options
    private let process: Mutex<Watched>

    package var socketPath: String { directory + "/redis.sock" }
    package var endpoint: RedisEndpoint { withUser(.unix(path: socketPath)) }
    /// The TCP side, when a port was asked for.
    package var tcpEndpoint: RedisEndpoint { withUser(.tcp(host: "127.0.0.1", port: options.port)) }

    /// A URL for what comes as this role, if roles count.
    package func url(as role: TestUsers.Role) -> String { TestUsers.url("unix://\(socketPath)", as: role) }

    var hasUsers: Bool { options.withUsers }

    private struct Watched: Sendable {
        /// Its standard input is the pipe: when it closes, the watchdog ends the server.
        var watchdog: ChildProcess
        /// Of the server.
        var pid: Int32
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

    package var pid: Int32 { process.withLock { $0.pid } }

    /// Sends a signal to the server itself: SIGKILL, SIGSTOP, SIGCONT, SIGTERM.
    package func signal(_ number: Int32) { kill(pid, number) }

    /// `kill -9`, and waits until it is gone. The folder stays, so that `restart()` finds the data.
    package func crash() {
        if hasUsers, process.withLock({ !$0.isEnded }) { TestUsers.collect(from: self) }
        process.withLock { Self.end(&$0) }
    }

    /// Starts it again in the same folder.
    package func restart() throws {
        crash()
        unlink(socketPath)
        let next = try Self.launch(in: directory, options)
        process.withLock { $0 = next }
        try awaitPong()
    }

    /// Ends it and removes its folder.
    package func stop() {
        crash()
        try? FileManager.default.removeItem(atPath: directory)
    }

    deinit { stop() }

    // MARK: Talking to it

    /// Sends commands over a connection of its own from a thread that may block; error replies stay in their places.
    @discardableResult
    package func ask(_ commands: RedisCommand...) throws -> [RedisValue] {
        let replies = try RedisProbe.ask(administrator, commands, timeout: .seconds(60))
        Seen.note(replies: replies)
        return replies
    }

    /// One field of INFO.
    package func info(_ field: String) throws -> String? {
        let text = try ask(RedisCommand("INFO", "all"))[0].expectString()
        let line = text.split(whereSeparator: \.isNewline).first { $0.hasPrefix(field + ":") }
        return line.map { String($0.dropFirst(field.count + 1)) }
    }

    /// ACL LOG, which is empty after that.
    func takeAccessLog() throws -> [RedisValue] {
        let commands = [RedisCommand("ACL", "LOG", 128), RedisCommand("ACL", "LOG", "RESET")]
        return try RedisProbe.ask(administrator, commands, timeout: .seconds(60))[0].expectArray()
    }

    private func withUser(_ endpoint: RedisEndpoint) -> RedisEndpoint {
        guard hasUsers else { return endpoint }
        var endpoint = endpoint
        (endpoint.user, endpoint.password) = (TestUsers.tester, TestUsers.password)
        return endpoint
    }

    /// With the password of the `requirepass` line, if there is one.
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
        let watchdog = try ChildProcess.start("sh", ["-c", Self.watchdog, "sh", configuration] + mode)
        guard let pid = Int32(watchdog.readLine()) else {
            watchdog.finish()
            throw CommandFailed(description: "redis-server was not started")
        }
        return Watched(watchdog: watchdog, pid: pid)
    }

    /// Prints the server's pid; at the end of its input kills the server.
    private static let watchdog = """
        trap '' INT HUP TERM
        redis-server "$@" >/dev/null 2>&1 &
        server=$!
        echo $server
        exec >/dev/null
        read -r _
        kill -9 $server 2>/dev/null
        wait $server 2>/dev/null
        """

    private static func end(_ watched: inout Watched) {
        guard !watched.isEnded else { return }
        watched.isEnded = true
        watched.watchdog.finish()
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

    /// Of the installed redis-server.
    package static let majorVersion: Int = {
        let text = (try? run("redis-server", ["--version"])) ?? ""
        return text.firstMatch(of: /v=(\d+)/).flatMap { Int($0.1) } ?? 0
    }()

    private func awaitPong() throws {
        let answers = comesTrueBlocking(within: options.patience) {
            guard let reply = try? ask(RedisCommand("PING"))[0] else { return false }
            return reply.error?.code != .loading
        }
        guard !answers else { return }
        let log = (try? String(contentsOfFile: directory + "/redis.log", encoding: .utf8)) ?? "no log"
        throw CommandFailed(description: "redis-server did not start: \(log.suffix(2_000))")
    }
}
