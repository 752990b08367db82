import Foundation

/// Finds, starts and watches the redis-server program.
enum ServerProcess {
    // MARK: Program

    /// - Returns: `$SLUICE_REDIS_SERVER`, or `redis-server` in PATH.
    static func find(_ environment: [String: String]) throws(EmbeddedRedisError) -> String {
        if let own = environment["SLUICE_REDIS_SERVER"], !own.isEmpty {
            if let path = resolve(own, environment) { return path }
            throw EmbeddedRedisError(
                .serverMissing,
                "SLUICE_REDIS_SERVER is \(own), which is not a program; set it to the path of redis-server, or unset it"
            )
        }
        if let path = resolve("redis-server", environment) { return path }
        throw EmbeddedRedisError(
            .serverMissing,
            """
            no redis-server found in PATH, and no Redis URL was given. Install redis-server (Debian, Ubuntu: apt-get install \
            redis-server; macOS: brew install redis), or give a URL: --redis redis://HOST:6379/0 or SLUICE_REDIS_URL
            """
        )
    }

    private static func resolve(_ name: String, _ environment: [String: String]) -> String? {
        if name.contains("/") { return isProgram(name) ? name : nil }
        let folders = (environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin").split(separator: ":")
        return folders.map { "\($0)/\(name)" }.first(where: isProgram)
    }

    /// Whether the path is an executable file. Folders have execute permission as well.
    private static func isProgram(_ path: String) -> Bool {
        var state = stat()
        return stat(path, &state) == 0 && state.st_mode & S_IFMT == S_IFREG && access(path, X_OK) == 0
    }

    // MARK: Configuration

    /// Writes redis.conf at each start, so that the file shows the running configuration.
    static func writeConfiguration(_ place: ServerPlace) throws(EmbeddedRedisError) {
        let lines = [
            "# Written by sluice at every start; changes are lost.",
            "port 0",
            "unixsocket \(quoted(place.socketPath))",
            "unixsocketperm 700",
            "dir \(quoted(place.directory))",
            "logfile \(quoted(place.logPath))",
            "daemonize no",
            "appendonly yes",
            "appendfsync everysec",
            "save \"\"",
            "maxmemory-policy noeviction",
        ]
        try ServerPlace.expect(S_IFREG, "a regular file", at: place.configurationPath)
        do {
            let text = lines.joined(separator: "\n") + "\n"
            try text.write(toFile: place.configurationPath, atomically: true, encoding: .utf8)
        } catch {
            throw EmbeddedRedisError(
                .folder,
                "cannot write \(place.configurationPath): \(error.localizedDescription)",
                cause: error
            )
        }
    }

    private static func quoted(_ text: String) -> String {
        "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }

    // MARK: Life

    /// Starts the server in a session of its own, so that Ctrl-C of this command does not reach it. The server inherits
    /// only the lock that it holds while it lives.
    static func spawn(_ program: String, _ place: ServerPlace, lifeLock: FileLock) throws(EmbeddedRedisError) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, lifeLock.descriptor, lifeLockDescriptor)
        for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] {
            posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0)
        }
        #if os(Linux)
            // The server must not keep other files open, such as a pipe to another program. A descriptor that is closed
            // meanwhile does no harm.
            for descriptor in openDescriptors() where descriptor > lifeLockDescriptor {
                posix_spawn_file_actions_addclose(&actions, descriptor)
            }
        #endif

        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var noSignals = sigset_t()
        sigemptyset(&noSignals)
        posix_spawnattr_setsigmask(&attributes, &noSignals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK) | newSession)

        var pid: pid_t = 0
        let status = withCStrings([program, place.configurationPath]) {
            posix_spawn(&pid, program, &actions, &attributes, $0, environ)
        }
        guard status == 0 else {
            throw EmbeddedRedisError(.startFailed, "cannot run \(program): \(String(cString: strerror(status)))")
        }
        return pid
    }

    private static func openDescriptors() -> [CInt] {
        let names = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        return (names ?? []).compactMap { CInt($0) }
    }

    private static let lifeLockDescriptor: CInt = 3

    #if os(Linux)
        /// POSIX_SPAWN_SETSID of spawn.h, which is not imported because it needs _GNU_SOURCE.
        private static let newSession: Int16 = 0x80
    #else
        private static let newSession = Int16(POSIX_SPAWN_SETSID | POSIX_SPAWN_CLOEXEC_DEFAULT)
    #endif

    private static func withCStrings<Result>(
        _ strings: [String],
        _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
    ) -> Result {
        let pointers = strings.map { strdup($0) }
        defer { for pointer in pointers { free(pointer) } }
        return body(pointers + [nil])
    }

    /// Whether no process with this id runs. Reaps a child of this process.
    static func isGone(_ pid: pid_t) -> Bool {
        switch waitpid(pid, nil, WNOHANG) {
        case pid: return true
        case 0: return false
        default: return kill(pid, 0) != 0 ? errno == ESRCH : isZombie(pid)
        }
    }

    /// Whether the process has ended but was not reaped. In a container, the first process may never reap its children.
    private static func isZombie(_ pid: pid_t) -> Bool {
        guard let line = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8),
            let end = line.lastIndex(of: ")")
        else { return false }
        return line[end...].dropFirst(2).hasPrefix("Z")
    }

    /// The end of the server's log, to show why it did not start.
    static func lastWords(_ place: ServerPlace) -> String {
        let text = (try? String(contentsOfFile: place.logPath, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").suffix(5).joined(separator: "\n  ")
    }
}
