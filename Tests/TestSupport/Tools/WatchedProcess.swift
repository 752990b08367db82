/// A program that ends with the test process, even after a crash.
///
/// A watchdog shell holds a pipe from the test process, and kills the program when the pipe closes.
public struct WatchedProcess: Sendable {
    /// The pid of the program. The watchdog has not reaped a program that ended by itself.
    public let pid: Int32
    private let watchdog: ChildProcess

    /// Starts a program from PATH without input and output.
    public static func start(_ program: String, _ arguments: [String]) throws -> WatchedProcess {
        let watchdog = try ChildProcess.start("sh", ["-c", script, "sh", program] + arguments)
        guard let pid = Int32(watchdog.readLine()) else {
            watchdog.finish()
            throw CommandFailed(description: "\(program) was not started")
        }
        return WatchedProcess(pid: pid, watchdog: watchdog)
    }

    /// Kills the program and waits for its end. Call this once.
    public func finish() { watchdog.finish() }

    /// Prints the program's pid. Kills the program at the end of its input.
    private static let script = """
        trap '' INT HUP TERM
        "$@" >/dev/null 2>&1 &
        program=$!
        echo $program
        exec >/dev/null
        read -r _
        kill -9 $program 2>/dev/null
        wait $program 2>/dev/null
        """
}
