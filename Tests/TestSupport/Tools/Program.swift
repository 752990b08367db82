import Foundation
import Synchronization

/// A program of the build folder in a process of its own.
///
/// The process ends with this value, and with the test process, even if that crashes. Output goes to files, which never
/// fill up.
public final class Program: Sendable {
    /// The end of a program.
    public struct Outcome: Sendable, Hashable {
        /// The exit code. For a program ended by a signal, 128 plus the signal's number, as in shells.
        public let code: Int32
        public let output: String
        public let errors: String
    }

    /// Changes the arguments and the environment of a program before its start.
    typealias Change = @Sendable (_ arguments: inout [String], _ environment: inout [String: String]) -> Void

    /// The change for all programs; nil = none.
    static let change = Mutex<Change?>(nil)

    private let running: Running
    private let folder: TemporaryDirectory

    /// Starts a program.
    /// - Parameters:
    ///   - name: the product's name (`image-run`), or the path of another program.
    ///   - arguments: the arguments.
    ///   - environment: variables added to those of the tests. A variable of the same name is replaced.
    ///   - input: the standard input; nil = empty.
    public init(
        _ name: String,
        _ arguments: [String],
        environment: [String: String] = [:],
        input: String? = nil
    ) throws {
        folder = try TemporaryDirectory()
        let program = name.hasPrefix("/") ? name : Self.directory.appendingPathComponent(name).path
        var words = arguments
        var variables = ProcessInfo.processInfo.environment.merging(Self.variables(for: arguments)) { $1 }
            .merging(environment) { $1 }
        Self.change.withLock { $0 }?(&words, &variables)
        if let input { try Data(input.utf8).write(to: folder.url.appendingPathComponent("input")) }
        let streams = [
            (try Self.open(input == nil ? "/dev/null" : folder.path("input"), O_RDONLY), STDIN_FILENO),
            (try Self.open(folder.path("output"), O_WRONLY | O_CREAT | O_APPEND), STDOUT_FILENO),
            (try Self.open(folder.path("errors"), O_WRONLY | O_CREAT | O_APPEND), STDERR_FILENO),
        ]
        defer { for (descriptor, _) in streams { close(descriptor) } }
        running = Running(
            pid: try Spawning.spawn(
                program,
                words,
                environment: variables.map { "\($0.key)=\($0.value)" },
                descriptors: streams,
                isSessionLeader: false
            )
        )
        running.watch()
    }

    /// A variable for every program, also for a shell that starts ours: 20 s to connect, because the default of two
    /// seconds is short on a busy machine.
    public static let connectPatience = ["SLUICE_CONNECT_TIMEOUT": "20s"]

    /// A worker that keeps running needs no such patience: it connects again by itself, and tests that take Redis away
    /// meet the usual time.
    private static func variables(for arguments: [String]) -> [String: String] {
        let connectsAgain = arguments.first == "worker" && !arguments.contains { $0.hasPrefix("--burst") }
        return connectsAgain ? [:] : connectPatience
    }

    deinit { send(SIGKILL) }

    /// The folder of the built products, which contains the test program.
    public static var directory: URL {
        Bundle.main.executableURL?.deletingLastPathComponent() ?? URL(fileURLWithPath: ".build/debug")
    }

    /// Runs a program to its end.
    public static func run(
        _ name: String,
        _ arguments: [String],
        environment: [String: String] = [:],
        input: String? = nil
    ) async throws -> Outcome {
        await (try Program(name, arguments, environment: environment, input: input)).outcome()
    }

    public var identifier: Int32 { running.pid }
    public var hasEnded: Bool { running.state.withLock { $0.code != nil } }

    /// Sends a signal, if the program still runs.
    public func send(_ signal: Int32) {
        running.state.withLock { state in
            if state.code == nil { _ = kill(running.pid, signal) }
        }
    }

    /// The standard output so far.
    public var output: String { read("output") }

    /// The standard error so far.
    public var errors: String { read("errors") }

    /// Waits for the end of the program.
    public func outcome() async -> Outcome {
        let code = await running.end()
        return Outcome(code: code, output: output, errors: errors)
    }

    private func read(_ name: String) -> String {
        let data = try? Data(contentsOf: folder.url.appendingPathComponent(name))
        let text = String(decoding: data ?? Data(), as: UTF8.self)
        if !text.isEmpty { Seen.note("\(name): \(text)") }
        return text
    }

    private static func open(_ path: String, _ flags: CInt) throws -> CInt {
        let descriptor = Foundation.open(path, flags | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw CommandFailed(description: "cannot open \(path): \(String(cString: strerror(errno)))")
        }
        return descriptor
    }
}

/// A child process, and the tasks that wait for its end.
private final class Running: Sendable {
    struct State {
        /// The exit code, set when the child was reaped. Afterwards its pid may belong to another process.
        var code: CInt?
        var waiters: [CheckedContinuation<CInt, Never>] = []
    }

    let pid: pid_t
    let state = Mutex(State())

    init(pid: pid_t) { self.pid = pid }

    /// Starts a thread that waits for the child, because the wait blocks.
    func watch() {
        StartedPrograms.shared.add(pid)
        let thread = Thread { [self] in
            Spawning.awaitEnd(of: pid)
            let (code, waiters) = state.withLock { state in
                StartedPrograms.shared.remove(pid)
                let code = Spawning.collect(pid)
                state.code = code
                defer { state.waiters = [] }
                return (code, state.waiters)
            }
            for waiter in waiters { waiter.resume(returning: code) }
        }
        thread.stackSize = 128 << 10
        thread.start()
    }

    func end() async -> CInt {
        await withCheckedContinuation { continuation in
            let code = state.withLock { state -> CInt? in
                if state.code == nil { state.waiters.append(continuation) }
                return state.code
            }
            if let code { continuation.resume(returning: code) }
        }
    }
}

/// Kills the programs of a test process that ended without killing them.
///
/// A shell reads from a pipe which programs are alive. When the pipe ends, the test process is gone.
private final class StartedPrograms: Sendable {
    static let shared = StartedPrograms()

    /// The watchdog shell; nil = the system has no shell, and programs survive a crash of the test process.
    private let watchdog = try? ChildProcess.start("sh", ["-c", script])

    private static let script = """
        trap '' INT HUP TERM
        pids=' '
        while read -r change pid; do
            case $change in
            add) pids="$pids$pid " ;;
            remove) case $pids in *" $pid "*) pids="${pids%% $pid *} ${pids#* $pid }" ;; esac ;;
            esac
        done
        for pid in $pids; do kill -9 "$pid"; done 2>/dev/null
        """

    /// A pipe writes one short line as a whole.
    func add(_ pid: pid_t) { watchdog?.write("add \(pid)\n") }
    func remove(_ pid: pid_t) { watchdog?.write("remove \(pid)\n") }
}
