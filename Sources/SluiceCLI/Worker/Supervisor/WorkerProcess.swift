import Foundation
import Operations
import SluiceOperator
import Synchronization

/// A worker that runs in a child process.
package final class WorkerProcess: Sendable {
    /// The way in which the process ended.
    package enum End: Sendable, Equatable, CustomStringConvertible {
        case exited(code: Int32)
        case killed(signal: Int32)

        package var description: String {
            switch self {
            case .exited(let code): "exit \(code)"
            case .killed(let signal): "signal \(signal)"
            }
        }
    }

    private struct State {
        /// The end of the process, set when the process is reaped. Afterwards the pid may belong to another process.
        var end: End?
        var waiter: CheckedContinuation<End, Never>?
    }

    package let pid: pid_t
    let worker: WorkerID
    let startedAt = ContinuousClock.now
    private let state = Mutex(State())

    /// Starts this program again.
    ///
    /// - Parameters:
    ///   - arguments: the arguments without the program's name.
    ///   - parentPipe: the descriptor that becomes the process's stdin.
    ///   - isSilent: whether output is discarded. Otherwise it goes where this process writes.
    /// - Throws: `CLIError` if no process can be started.
    package init(_ worker: WorkerID, arguments: [String], parentPipe: Int32, isSilent: Bool = false) throws(CLIError) {
        self.worker = worker
        pid = try Self.spawn(arguments, parentPipe, isSilent)
        let thread = Thread { [self] in collect() }
        thread.stackSize = 128 << 10
        thread.start()
    }

    /// Sends a signal if the process still runs.
    package func send(_ signal: Int32) {
        state.withLock { state in
            if state.end == nil { _ = kill(pid, signal) }
        }
    }

    /// Waits for the end of the process. Supports only one caller.
    package func end() async -> End {
        await withCheckedContinuation { continuation in
            let end = state.withLock { state -> End? in
                if state.end == nil { state.waiter = continuation }
                return state.end
            }
            if let end { continuation.resume(returning: end) }
        }
    }

    /// Blocks until the process has ended, then reaps it and stores the end in one step.
    private func collect() {
        var info = siginfo_t()
        while waitid(P_PID, id_t(pid), &info, WEXITED | WNOWAIT) < 0, errno == EINTR {}
        let (end, waiter) = state.withLock { state in
            var status: Int32 = 0
            while waitpid(pid, &status, 0) < 0, errno == EINTR {}
            let end: End =
                status & 0x7f == 0 ? .exited(code: (status >> 8) & 0xff) : .killed(signal: status & 0x7f)
            state.end = end
            defer { state.waiter = nil }
            return (end, state.waiter)
        }
        waiter?.resume(returning: end)
    }

    /// Starts the process in a process group of its own. A terminal's Ctrl-C then reaches only the supervisor, which
    /// passes it on.
    private static func spawn(_ arguments: [String], _ parentPipe: Int32, _ isSilent: Bool) throws(CLIError) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, parentPipe, STDIN_FILENO)
        for stream in isSilent ? [STDOUT_FILENO, STDERR_FILENO] : [] {
            posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_WRONLY, 0)
        }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        posix_spawnattr_setflags(
            &attributes,
            Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF)
        )
        posix_spawnattr_setpgroup(&attributes, 0)
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        // Signals that are ignored here would stay ignored in the child until the child handles them.
        for number in StopSignals.heard { sigaddset(&signals, number) }
        posix_spawnattr_setsigdefault(&attributes, &signals)
        let words = ([CommandLine.arguments.first ?? Program.name] + arguments).map { strdup($0) }
        defer { for word in words { free(word) } }
        var pid: pid_t = 0
        let code = posix_spawn(&pid, "/proc/self/exe", &actions, &attributes, words + [nil], environ)
        guard code == 0 else {
            throw CLIError(.bug, "cannot start a worker process: \(String(cString: strerror(code)))")
        }
        return pid
    }
}
