import Dispatch
import Glibc
import Operations
import Synchronization

/// A program that runs under a guard.
final class GuardedProcess: Sendable {
    /// How the program ended.
    enum End: Sendable, Equatable {
        case exited(code: Int32)
        case killed(signal: Int32)
        case refused(errno: Int32)
        /// The guard itself was killed; what it guarded has been killed too.
        case guardLost
    }

    /// Time to read what is left in the pipe: at most 64 KiB, unless somebody goes on writing.
    private static let rest: Duration = .seconds(1)
    private let guardian: pid_t
    private let course: Course
    private let control: ControlSocket
    private let output: LineReader
    private let reports: LineReader

    /// Starts the guard, which starts the program.
    ///
    /// - Throws: `ExecFailure` if the guard cannot be started.
    init(
        _ request: GuardRequest,
        input: [UInt8]?,
        guardPath: String,
        onLine: @escaping @Sendable (String) -> Void
    ) throws {
        let plumbing = try Plumbing.connect(input: input, guardPath: guardPath)
        let course = Course()
        self.course = course
        guardian = plumbing.guardian
        control = ControlSocket(plumbing.control)
        output = LineReader(plumbing.output, onLine: onLine)
        reports = LineReader(plumbing.report) { line in
            if let report = GuardReport(line) { course.note(report) }
        }
        control.send(request.encoded)
    }

    /// True once the program was told to end.
    var isTerminated: Bool { course.isTerminated }

    /// SIGTERM to the program's group; after the grace, SIGKILL to everything that it has started.
    func terminate(grace: Duration) {
        course.terminate()
        control.send([GuardOrder.terminate.rawValue])
        Task { [control] in
            try await Task.sleep(for: grace)
            control.send([GuardOrder.kill.rawValue])
        }
    }

    /// Waits until the program and everything it has started have ended, and their output has been read.
    func waitForEnd() async -> End {
        await reports.waitForEnd()
        await collectGuard()
        control.close()
        let (end, group) = course.outcome
        if end == nil, let group { kill(-group, SIGKILL) }
        await readRest()
        return end ?? .guardLost
    }

    /// What the program wrote is in the pipe by now. Whoever still holds its other end has escaped a guard that was killed, and may
    /// do so for hours: it is not waited for.
    private func readRest() async {
        let limit = Task { [output] in
            try await Task.sleep(for: Self.rest)
            output.stop()
        }
        await output.waitForEnd()
        limit.cancel()
    }

    /// The guard has closed its reports, so it is about to exit, or gone.
    private func collectGuard() async {
        let guardian = guardian
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                while waitpid(guardian, nil, 0) < 0, errno == EINTR {}
                continuation.resume()
            }
        }
    }
}

/// What is known about a guarded program.
private final class Course: Sendable {
    private struct State {
        var group: Int32?
        var end: GuardedProcess.End?
        var isTerminated = false
    }

    private let state = Mutex(State())

    var isTerminated: Bool { state.withLock { $0.isTerminated } }
    var outcome: (end: GuardedProcess.End?, group: Int32?) { state.withLock { ($0.end, $0.group) } }

    func terminate() { state.withLock { $0.isTerminated = true } }

    func note(_ report: GuardReport) {
        state.withLock { state in
            switch report {
            case .started(let group): state.group = group
            case .refused(let errno): state.end = .refused(errno: errno)
            case .exited(let code): state.end = .exited(code: code)
            case .killed(let signal): state.end = .killed(signal: signal)
            }
        }
    }
}

/// The worker's end of the socket to a guard. Only this process has it, so the guard sees its end when the process dies.
private final class ControlSocket: Sendable {
    private let descriptor: Mutex<Int32?>

    init(_ descriptor: Int32) { self.descriptor = Mutex(descriptor) }

    /// Sends all bytes; a guard that is gone is found out elsewhere.
    func send(_ bytes: [UInt8]) {
        descriptor.withLock { descriptor in
            guard let descriptor else { return }
            var sent = 0
            while sent < bytes.count {
                let count = bytes.withUnsafeBytes { buffer in
                    // Without the flag, a guard that is gone would be a SIGPIPE.
                    Glibc.send(descriptor, buffer.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
                }
                if count < 0, errno != EINTR { return }
                sent += max(0, count)
            }
        }
    }

    func close() {
        descriptor.withLock { descriptor in
            if let descriptor { Glibc.close(descriptor) }
            descriptor = nil
        }
    }
}
