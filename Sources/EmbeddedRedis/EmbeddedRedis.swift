import Foundation
import RedisClient

/// A private redis-server of this user, on a unix socket in the state folder. All commands without a Redis URL share
/// this server.
///
/// The first command that needs the server starts it. The server runs in a session of its own until `stop()`, and
/// writes its append-only file to disk every second. All methods block the calling thread and are meant for start-up.
package struct EmbeddedRedis: Sendable {
    package struct Status: Sendable, Equatable {
        package var pid: Int32
        package var socketPath: String
        package var directory: String
        /// Whether this call started the server; false if it was running.
        package var startedNow: Bool
        /// The version of the server, for example `7.0.15`.
        package var version: String
    }

    let place: ServerPlace
    private let environment: [String: String]
    /// How long a server that listens may take to answer.
    let patience: Duration

    /// - Parameters:
    ///   - directory: the folder of the server's files. nil takes `$SLUICE_STATE_DIR/redis`, else
    ///     `$XDG_STATE_HOME/sluice/redis`, else `~/.local/state/sluice/redis`.
    ///   - environment: the environment variables to read (also PATH and SLUICE_REDIS_SERVER).
    ///   - patience: how long a server that listens may take to answer; a server that starts has at least 15 s.
    package init(
        directory: String? = nil,
        environment: [String: String] = ProcessInfo.processInfo.environment,
        patience: Duration = .seconds(2)
    ) {
        (self.environment, self.patience) = (environment, patience)
        place = ServerPlace(directory: directory, environment: environment)
    }

    /// The path of the socket, at most 100 bytes. If the folder's own path is too long, the socket is in the runtime or
    /// temporary directory.
    package var socketPath: String { place.socketPath }
    package var directory: String { place.directory }
    package var endpoint: RedisEndpoint { .unix(path: place.socketPath) }

    // MARK: Start

    /// Adopts the running server or starts one. Waits until the server answers and has loaded its data. If several
    /// processes call this at the same time, one of them starts the server.
    /// - Throws: ``EmbeddedRedisError``.
    package func start() throws(EmbeddedRedisError) -> Status {
        try place.prepare()
        let startLock = try lockStart()
        defer { startLock.release() }
        if case .alive(let pid, let version, let isLoading) = try ask() {
            if isLoading { try awaitLoaded(pid: pid) }
            return status(pid, version, startedNow: false)
        }
        return try startNew()
    }

    private func startNew() throws(EmbeddedRedisError) -> Status {
        let program = try ServerProcess.find(environment)
        let pid = try spawn(program)
        let limit = max(.seconds(15), self.patience)
        var patience = Patience(limit)
        repeat {
            if ServerProcess.isGone(pid) { throw startFailed("it ended at once") }
            guard case .alive(let answering, let version, let isLoading) = try ask() else { continue }
            guard answering == pid else { throw startFailed("another server (pid \(answering)) uses its socket") }
            if isLoading { try awaitLoaded(pid: pid) }
            return status(pid, version, startedNow: true)
        } while patience.wait()
        throw startFailed("it did not answer within \(limit)")
    }

    private func spawn(_ program: String) throws(EmbeddedRedisError) -> Int32 {
        try ServerProcess.writeConfiguration(place)
        let lifeLock = try lockLife()
        defer { lifeLock.release() }
        try place.removeSocket()
        return try ServerProcess.spawn(program, place, lifeLock: lifeLock)
    }

    /// Waits while the server loads its data, which may take long and is no failure.
    private func awaitLoaded(pid: Int32) throws(EmbeddedRedisError) {
        var patience = Patience(.seconds(120))
        while patience.wait() {
            guard case .alive(_, _, let isLoading) = try ask() else {
                throw startFailed("it ended while loading its data")
            }
            if !isLoading { return }
        }
        throw EmbeddedRedisError(
            .notAnswering,
            "the embedded Redis (pid \(pid)) is still loading its data from \(place.directory) after 120 s"
        )
    }

    private func startFailed(_ what: String) -> EmbeddedRedisError {
        EmbeddedRedisError(
            .startFailed,
            "the embedded Redis could not be started: \(what). The end of \(place.logPath):\n  \(ServerProcess.lastWords(place))"
        )
    }

    // MARK: Status

    /// - Returns: nil if the server does not run.
    package func status() throws(EmbeddedRedisError) -> Status? {
        guard case .alive(let pid, let version, _) = try ask() else { return nil }
        return status(pid, version, startedNow: false)
    }

    private func status(_ pid: Int32, _ version: String, startedNow: Bool) -> Status {
        Status(
            pid: pid,
            socketPath: place.socketPath,
            directory: place.directory,
            startedNow: startedNow,
            version: version
        )
    }

    // MARK: Stop

    /// Asks the server to write its data and end, and waits until the process is gone and the socket is removed.
    /// - Returns: false if the server did not run.
    /// - Throws: ``EmbeddedRedisError``.
    @discardableResult
    package func stop() throws(EmbeddedRedisError) -> Bool {
        guard access(place.directory, F_OK) == 0 else { return false }
        let startLock = try lockStart()
        defer { startLock.release() }
        guard case .alive(let pid, _, _) = try ask() else {
            try place.removeSocket()
            return false
        }
        try shutDown()
        try awaitEnd(of: pid)
        try place.removeSocket()
        return true
    }

    private func shutDown() throws(EmbeddedRedisError) {
        do {
            let replies = try RedisProbe.ask(endpoint, [RedisCommand("SHUTDOWN")], timeout: .seconds(10))
            guard let refusal = replies.first?.error else { return }
            throw EmbeddedRedisError(
                .stopFailed,
                "the embedded Redis refuses to stop: \(refusal.message) (see \(place.logPath))"
            )
        } catch let error as EmbeddedRedisError {
            throw error
        } catch {
            // Redis answers SHUTDOWN by closing the connection.
        }
    }

    private func awaitEnd(of pid: Int32) throws(EmbeddedRedisError) {
        var patience = Patience(.seconds(10))
        while !ServerProcess.isGone(pid) {
            if patience.wait() { continue }
            // INFO named this pid a moment ago, and the process has run since then.
            kill(pid, SIGKILL)
            patience = Patience(.seconds(5))
            while !ServerProcess.isGone(pid) {
                guard patience.wait() else {
                    throw EmbeddedRedisError(
                        .stopFailed,
                        "the embedded Redis (pid \(pid)) is still running 5 s after SIGKILL"
                    )
                }
            }
        }
    }

    // MARK: Locks

    private func lockStart() throws(EmbeddedRedisError) -> FileLock {
        var patience = Patience(.seconds(30))
        repeat {
            if let lock = try FileLock.take(place.startLockPath) { return lock }
        } while patience.wait()
        throw EmbeddedRedisError(
            .startLocked,
            "another process has been starting or stopping the embedded Redis for 30 s; find it with "
                + "lsof \(place.startLockPath), and end it"
        )
    }

    /// Takes the lock that a server holds while it lives, even after its socket was removed. Two servers must never
    /// write to one append-only file.
    private func lockLife() throws(EmbeddedRedisError) -> FileLock {
        var patience = Patience(.seconds(5))
        repeat {
            if let lock = try FileLock.take(place.lifeLockPath) { return lock }
        } while patience.wait()
        throw EmbeddedRedisError(
            .notAnswering,
            "a redis-server still uses \(place.directory), but its socket \(place.socketPath) is gone; find it with "
                + "lsof \(place.lifeLockPath), and end it"
        )
    }
}
