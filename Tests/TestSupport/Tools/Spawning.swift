import Foundation

/// Starts child processes.
///
/// Foundation's `Process` is not used, because children inherit the sockets by which it waits for other children. With
/// many children at once, such a wait may last until an unrelated child ends.
enum Spawning {
    /// Starts a program with these descriptors and standard error, and with no other descriptor.
    /// - Parameters:
    ///   - program: a path, or a name to search for in PATH.
    ///   - environment: the variables as `KEY=value`; nil = those of this process.
    ///   - isSessionLeader: whether the child has its own session, so that Ctrl-C of the test run ends only the test
    ///     process.
    static func spawn(
        _ program: String,
        _ arguments: [String],
        environment: [String]? = nil,
        descriptors: [(ours: CInt, theirs: CInt)],
        isSessionLeader: Bool
    ) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (ours, theirs) in descriptors { posix_spawn_file_actions_adddup2(&actions, ours, theirs) }
        for descriptor in openDescriptors() where descriptor > STDERR_FILENO {
            posix_spawn_file_actions_addclose(&actions, descriptor)
        }
        return try spawn(program, arguments, environment, &actions, isSessionLeader)
    }

    private static func openDescriptors() -> [CInt] {
        let folder = FileManager.default.fileExists(atPath: "/proc/self/fd") ? "/proc/self/fd" : "/dev/fd"
        return ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).compactMap { CInt($0) }
    }

    private static func spawn(
        _ program: String,
        _ arguments: [String],
        _ environment: [String]?,
        _ actions: inout posix_spawn_file_actions_t,
        _ isSessionLeader: Bool
    ) throws -> pid_t {
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // Threads of Dispatch block signals. A shell that inherits blocked signals waits forever for its own children.
        var noSignals = sigset_t()
        sigemptyset(&noSignals)
        posix_spawnattr_setsigmask(&attributes, &noSignals)
        // Tests under nohup, or in the background of a script, ignore these signals, so the child gets the defaults.
        var defaults = sigset_t()
        sigemptyset(&defaults)
        for number in [SIGHUP, SIGINT, SIGQUIT] { sigaddset(&defaults, number) }
        posix_spawnattr_setsigdefault(&attributes, &defaults)
        let newSession: Int16 = isSessionLeader ? 0x80 : 0  // POSIX_SPAWN_SETSID
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF) | newSession)
        let words = ([program] + arguments).map { strdup($0) }
        let variables = (environment ?? []).map { strdup($0) }
        defer { for text in words + variables { free(text) } }
        var pid: pid_t = 0
        let status =
            environment == nil
            ? posix_spawnp(&pid, program, &actions, &attributes, words + [nil], environ)
            : posix_spawnp(&pid, program, &actions, &attributes, words + [nil], variables + [nil])
        guard status == 0 else {
            throw CommandFailed(description: "cannot run \(program): \(String(cString: strerror(status)))")
        }
        return pid
    }

    /// Blocks until a child has ended. The child stays a zombie, so that its pid is not reused.
    static func awaitEnd(of pid: pid_t) {
        var info = siginfo_t()
        while waitid(P_PID, id_t(pid), &info, WEXITED | WNOWAIT) < 0, errno == EINTR {}
    }

    /// Reaps a child, and waits for its end if necessary.
    /// - Returns: the exit status, or 128 + the signal that ended the child.
    static func collect(_ pid: pid_t) -> CInt {
        var status: CInt = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        return status & 0x7f == 0 ? (status >> 8) & 0xff : 128 + (status & 0x7f)
    }
}
