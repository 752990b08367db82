import Foundation
import Synchronization

/// A program of this package, run as its own process; it outlives neither the value nor, however that ends, the test process.
///
/// What it writes goes to files, which never fill up.
package final class Program: Sendable {
    /// How a program ended.
    package struct Outcome: Sendable, Hashable {
        /// The exit code; for a program that a signal ended, 128 and the signal's number, as shells say it.
        package let code: Int32
        package let output: String
        package let errors: String
    }

    private let running: Running
    private let folder: TemporaryDirectory

    /// Starts a program.
    /// - Parameters:
    ///   - name: The product's name (`image-run`), or the path of another program.
    ///   - arguments: Its arguments.
    ///   - environment: Variables beside, or instead of, those of the tests.
    ///   - input: What it reads; nothing unless said.
    package init(
        _ name: String,
        _ arguments: [String],
        environment: [String: String] = [:],
        input: String? = nil
    ) throws {
        folder = try TemporaryDirectory()
        let program = name.hasPrefix("/") ? name : Self.directory.appendingPathComponent(name).path
        let variables = TestUsers.environment(
            ProcessInfo.processInfo.environment.merging(Self.patience(name, arguments)) { $1 }
                .merging(environment) { $1 },
            for: arguments
        )
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
                TestUsers.arguments(arguments),
                environment: variables.map { "\($0.key)=\($0.value)" },
                descriptors: streams,
                isSessionLeader: false
            )
        )
        running.watch()
    }

    /// A command ends if it is not connected within two seconds, which is little on a busy machine. What runs on tries again by itself.
    private static func patience(_ name: String, _ arguments: [String]) -> [String: String] {
        let runsOn = ["worker", "test-worker", "monitor"].contains(arguments.first)
        let triesAgain = runsOn && !arguments.contains("--burst")
        return name == "sluice" && !triesAgain ? ["SLUICE_CONNECT_TIMEOUT": "20s"] : [:]
    }

    deinit { send(SIGKILL) }

    /// The folder of the built products: where the test program itself lies.
    package static var directory: URL {
        Bundle.main.executableURL?.deletingLastPathComponent() ?? URL(fileURLWithPath: ".build/debug")
    }

    /// Runs a program to its end.
    package static func run(
        _ name: String,
        _ arguments: [String],
        environment: [String: String] = [:],
        input: String? = nil
    ) async throws -> Outcome {
        await (try Program(name, arguments, environment: environment, input: input)).outcome()
    }

    package var identifier: Int32 { running.pid }
    package var hasEnded: Bool { running.state.withLock { $0.code != nil } }

    /// Sends a signal, if the program still runs.
    package func send(_ signal: Int32) {
        running.state.withLock { state in
            if state.code == nil { _ = kill(running.pid, signal) }
        }
    }

    /// What it has written to standard output so far.
    package var output: String { read("output") }

    /// What it has written to standard error so far.
    package var errors: String { read("errors") }

    /// Waits for the end of the program.
    package func outcome() async -> Outcome {
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

/// A child, and those who wait for its end.
private final class Running: Sendable {
    struct State {
        /// Set when the child was reaped: afterwards its pid may belong to another process.
        var code: CInt?
        var waiters: [CheckedContinuation<CInt, Never>] = []
    }

    let pid: pid_t
    let state = Mutex(State())

    init(pid: pid_t) { self.pid = pid }

    /// Collects the child on a thread of its own, which blocks.
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

/// Kills the programs of a test process that has ended without doing so itself: a shell reads from a pipe which ones live,
/// and its end when the test process is gone.
private final class StartedPrograms: Sendable {
    static let shared = StartedPrograms()

    /// nil where there is no shell: then programs live on after a crash.
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

    /// One short line each, which a pipe takes whole.
    func add(_ pid: pid_t) { watchdog?.write("add \(pid)\n") }
    func remove(_ pid: pid_t) { watchdog?.write("remove \(pid)\n") }
}
