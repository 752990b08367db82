import Foundation

/// The paths of one embedded server's files.
struct ServerPlace: Sendable {
    let directory: String
    let socketPath: String

    var configurationPath: String { directory + "/redis.conf" }
    var logPath: String { directory + "/redis.log" }
    /// The lock of a process that starts or stops the server.
    var startLockPath: String { directory + "/start.lock" }
    /// The lock that the server holds while it lives.
    var lifeLockPath: String { directory + "/server.lock" }

    init(directory: String?, environment: [String: String]) {
        let directory = Self.absolute(directory ?? Self.stateFolder(environment))
        self.directory = directory
        socketPath = Self.socketPath(in: directory, environment)
    }

    /// The first of `$SLUICE_STATE_DIR/redis`, `$XDG_STATE_HOME/sluice/redis` and `~/.local/state/sluice/redis`.
    private static func stateFolder(_ environment: [String: String]) -> String {
        if let own = environment["SLUICE_STATE_DIR"], !own.isEmpty { return own + "/redis" }
        // The XDG specification requires that relative paths are ignored.
        if let state = environment["XDG_STATE_HOME"], state.hasPrefix("/") { return state + "/sluice/redis" }
        return home(environment) + "/.local/state/sluice/redis"
    }

    private static func home(_ environment: [String: String]) -> String {
        if let home = environment["HOME"], home.hasPrefix("/") { return home }
        return NSHomeDirectory()
    }

    private static func absolute(_ path: String) -> String {
        let full = path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
        return full.count > 1 && full.hasSuffix("/") ? String(full.dropLast()) : full
    }

    /// The path of the socket, at most 100 bytes. If the path is too long, the socket is in the runtime or temporary
    /// directory.
    private static func socketPath(in directory: String, _ environment: [String: String]) -> String {
        let path = directory + "/redis.sock"
        if path.utf8.count <= maxSocketPathBytes { return path }
        let folder = "/sluice-\(getuid())-\(fingerprint(directory))/redis.sock"
        let bases = ["XDG_RUNTIME_DIR", "TMPDIR"].compactMap { environment[$0] }.filter { $0.hasPrefix("/") }
        return (bases.map { $0 + folder }.first { $0.utf8.count <= maxSocketPathBytes }) ?? "/tmp" + folder
    }

    private static let maxSocketPathBytes = 100

    /// A short name that is always the same for a folder (FNV-1a).
    private static func fingerprint(_ text: String) -> String {
        let hash = text.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        return String(hash, radix: 36)
    }

    /// Makes the folders, readable by this user only.
    func prepare() throws(EmbeddedRedisError) {
        try Self.makePrivate(directory)
        let socketFolder = String(socketPath[..<(socketPath.lastIndex(of: "/") ?? socketPath.endIndex)])
        if socketFolder != directory { try Self.makePrivate(socketFolder) }
        try checkFiles()
    }

    /// Refuses links and other users' files in the places of the server's own files. Redis would follow a link and
    /// write to its target.
    private func checkFiles() throws(EmbeddedRedisError) {
        for path in [configurationPath, logPath, startLockPath, lifeLockPath] {
            try Self.expect(S_IFREG, "a regular file", at: path)
        }
        let data = directory + "/appendonlydir"
        try Self.expect(S_IFDIR, "a folder", at: data)
        for name in (try? FileManager.default.contentsOfDirectory(atPath: data)) ?? [] {
            try Self.expect(S_IFREG, "a regular file", at: data + "/" + name)
        }
        try Self.expect(S_IFREG, "a regular file", at: directory + "/dump.rdb")
    }

    /// Removes the socket of a server that is gone.
    func removeSocket() throws(EmbeddedRedisError) {
        try Self.expect(S_IFSOCK, "a socket", at: socketPath)
        unlink(socketPath)
    }

    /// Refuses another kind of file or another owner at the path. Sluice did not make such a file and must not
    /// overwrite it.
    static func expect(_ kind: mode_t, _ name: String, at path: String) throws(EmbeddedRedisError) {
        var state = stat()
        guard lstat(path, &state) == 0 else { return }
        let isLink = state.st_mode & S_IFMT == S_IFLNK
        guard state.st_mode & S_IFMT == kind, state.st_uid == getuid() else {
            let what = isLink ? "a link" : state.st_mode & S_IFMT == kind ? "another user's" : "not \(name)"
            throw EmbeddedRedisError(
                .folder,
                "\(path) is \(what), so the embedded Redis is not started; move it away, or set SLUICE_STATE_DIR to another folder"
            )
        }
    }

    private static func makePrivate(_ folder: String) throws(EmbeddedRedisError) {
        do {
            try FileManager.default.createDirectory(
                atPath: folder,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
        } catch {
            throw EmbeddedRedisError(
                .folder,
                "cannot create the folder \(folder): \(error.localizedDescription); set SLUICE_STATE_DIR to another folder",
                cause: error
            )
        }
        var info = stat()
        guard lstat(folder, &info) == 0, info.st_mode & S_IFMT == S_IFDIR, info.st_uid == getuid() else {
            throw EmbeddedRedisError(
                .folder,
                "\(folder) is not a folder of this user, so the embedded Redis is not started there; set SLUICE_STATE_DIR to another one"
            )
        }
        // Another user may have put files there.
        guard info.st_mode & 0o022 == 0 else {
            let mode = String(info.st_mode & 0o7777, radix: 8)
            throw EmbeddedRedisError(
                .folder,
                "other users may write to \(folder) (mode \(mode)), so the embedded Redis is not started there; check its files, "
                    + "then chmod 700 it, or set SLUICE_STATE_DIR to another folder"
            )
        }
        // An existing folder may be open to other users, and the socket in it has no password.
        guard info.st_mode & 0o077 == 0 || chmod(folder, 0o700) == 0 else {
            throw EmbeddedRedisError(.folder, "cannot make \(folder) private (chmod 700): \(lastSystemError())")
        }
    }
}

func lastSystemError() -> String { String(cString: strerror(errno)) }
