import Dispatch
import Foundation
import Glibc
import Operations
import Synchronization

/// A program that runs under a guard.
final class GuardedProcess: Sendable {
    /// The end of the program.
    enum End: Sendable, Equatable {
        case exited(code: Int32)
        case killed(signal: Int32)
        case refused(StartStep, errno: Int32)
        /// The guard was killed, and the program with it.
        case guardLost
    }

    /// The time to read the rest of the pipe: at most 64 KiB, unless a process continues to write. After the guard has
    /// reported the program's end, no such process is left.
    private static let rest: Duration = .seconds(10)
    private static let restAfterGuard: Duration = .seconds(1)
    private let guardian: pid_t
    private let course: Course
    private let control: ControlSocket
    private let reports: PipeReader
    /// The readers of the program's descriptors.
    private let outputs: [PipeReader]
    private let captured = CapturedOutput(limit: SluiceDefaults.resultBytes)
    private let onLine: @Sendable (String) -> Void

    /// Starts the guard, which starts the program.
    ///
    /// - Parameters:
    ///   - request: the program to start.
    ///   - input: the program's stdin; nil = empty.
    ///   - guardPath: an executable whose `main` calls `ExecGuard.runIfAsked`.
    ///   - onLine: called with the lines of stderr, and of stdout unless `onEvent` is given.
    ///   - onEvent: called with the lines that the program writes to descriptor 3; then stdout is captured.
    /// - Throws: `ExecFailure` if the guard cannot be started.
    init(
        _ request: GuardRequest,
        input: [UInt8]?,
        guardPath: String,
        onLine: @escaping @Sendable (String) -> Void,
        onEvent: (@Sendable (String) -> Void)? = nil
    ) throws {
        let watch = try ReadWatch.shared()
        let plumbing = try Plumbing.connect(input: input, guardPath: guardPath, hasChannels: onEvent != nil)
        let course = Course()
        self.course = course
        self.onLine = onLine
        guardian = plumbing.guardian
        control = ControlSocket(plumbing.control)
        reports = PipeReader(plumbing.report, watch) { line in
            if let report = GuardReport(line) { course.note(report) }
        }
        if let channels = plumbing.channels, let onEvent {
            outputs = [
                PipeReader(
                    plumbing.output,
                    watch,
                    onBytes: { [captured, control] bytes in
                        // Kill a program that writes more than a result may have: it might write for ever.
                        if !captured.take(bytes) { control.send([GuardOrder.kill.rawValue]) }
                    }
                ),
                PipeReader(channels.errors, watch, onLine: onLine),
                PipeReader(
                    channels.events,
                    watch,
                    limit: SluiceDefaults.checkpointBytes + SluiceDefaults.logLineBytes,
                    onLine: onEvent
                ),
            ]
        } else {
            outputs = [PipeReader(plumbing.output, watch, onLine: onLine)]
        }
        control.send(request.encoded)
    }

    /// Waits for the end. A cancel of the calling task ends the program.
    ///
    /// - Parameter grace: the time between SIGTERM and SIGKILL.
    /// - Throws: `CancellationError` after a cancel.
    func run(grace: Duration) async throws -> End {
        let end = await withTaskCancellationHandler {
            await waitForEnd()
        } onCancel: {
            terminate(grace: grace)
        }
        if course.isTerminated { throw CancellationError() }
        return end
    }

    /// The captured stdout; nil if it exceeded the limit of a result, so that the program was killed.
    var result: [UInt8]? { captured.bytes }

    /// Whether stdout could not be read to its end.
    var isCut: Bool { outputs[0].isCut }

    /// Sends SIGTERM to the program's group, and after the grace SIGKILL to all processes that it started.
    private func terminate(grace: Duration) {
        course.terminate()
        control.send([GuardOrder.terminate.rawValue])
        Task { [control] in
            try await Task.sleep(for: grace.limited)
            control.send([GuardOrder.kill.rawValue])
        }
    }

    /// Sends SIGKILL to all processes that the program started. `run` then throws `CancellationError`.
    func kill() {
        course.terminate()
        control.send([GuardOrder.kill.rawValue])
    }

    /// Waits until the program and all processes that it started have ended, and their output has been read.
    private func waitForEnd() async -> End {
        await reports.waitForEnd()
        await collectGuard()
        control.close()
        let (end, group) = course.outcome
        if end == nil, let group { Glibc.kill(-group, SIGKILL) }
        await readRest(within: end == nil ? Self.restAfterGuard : Self.rest)
        return end ?? .guardLost
    }

    /// Reads the rest of the output, which is already in the pipe. Does not wait for a process that has escaped a
    /// killed guard: such a process may hold the other end for hours.
    private func readRest(within time: Duration) async {
        let limit = Task { [outputs] in
            try await Task.sleep(for: time)
            for output in outputs { output.stop() }
        }
        for output in outputs { await output.waitForEnd() }
        limit.cancel()
        if outputs.contains(where: \.isCut) {
            let words = time.formatted(.units(allowed: [.seconds]))
            onLine("[the output was cut here: \(words) after the program's end another process still held it open]")
        }
    }

    /// Reaps the guard, which has closed its reports and is about to exit.
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

/// The output of a program, up to a limit.
private final class CapturedOutput: Sendable {
    private let limit: Int
    private let kept = Mutex<[UInt8]?>([])

    init(limit: Int) { self.limit = limit }

    /// The captured output; nil = it exceeded the limit.
    var bytes: [UInt8]? { kept.withLock { $0 } }

    /// - Returns: false if the limit is exceeded.
    func take(_ bytes: ArraySlice<UInt8>) -> Bool {
        kept.withLock { kept in
            guard let count = kept?.count else { return true }
            guard count + bytes.count <= limit else {
                kept = nil
                return false
            }
            kept? += bytes
            return true
        }
    }
}

/// The state of a guarded program.
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
            case .refused(let step, let errno): state.end = .refused(step, errno: errno)
            case .exited(let code): state.end = .exited(code: code)
            case .killed(let signal): state.end = .killed(signal: signal)
            }
        }
    }
}

/// The worker's end of the socket to a guard. Only this process has it, so the socket ends when the process dies.
private final class ControlSocket: Sendable {
    private let descriptor: Mutex<Int32?>

    init(_ descriptor: Int32) { self.descriptor = Mutex(descriptor) }

    /// Sends all bytes. Ignores an ended guard, which is noticed elsewhere.
    func send(_ bytes: [UInt8]) {
        descriptor.withLock { descriptor in
            guard let descriptor else { return }
            var sent = 0
            while sent < bytes.count {
                let count = bytes.withUnsafeBytes { buffer in
                    // Without the flag, a write to an ended guard would raise SIGPIPE.
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
