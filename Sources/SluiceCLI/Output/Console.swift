import Foundation
import Operations
import SluiceMonitor
import SluiceOperator
import TerminalText
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The three standard streams: data goes to stdout, everything else to stderr.
package final class Console: Sendable {
    package let output: Style
    package let errors: Style
    package let isOutputTerminal: Bool
    package let isErrorTerminal: Bool
    package let isInputTerminal: Bool
    /// Whether notes and progress are omitted.
    package let quiet: Bool
    private let handover = Mutex(Handover())
    private let status = Mutex(StatusLine())
    private let hasWarnedOfOutage = Mutex(false)

    private struct StatusLine {
        var shown = false
        var shownAt: ContinuousClock.Instant?
    }

    package init(
        color: ColorChoice = .auto,
        ascii: Bool = false,
        quiet: Bool = false,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) {
        isOutputTerminal = isatty(STDOUT_FILENO) == 1
        isErrorTerminal = isatty(STDERR_FILENO) == 1
        isInputTerminal = isatty(STDIN_FILENO) == 1
        output = Style(color: color, ascii: ascii, isTerminal: isOutputTerminal, environment: environment)
        errors = Style(color: color, ascii: ascii, isTerminal: isErrorTerminal, environment: environment)
        self.quiet = quiet
    }
}

// MARK: - Output that fails

extension Console {
    /// The state of stdout while a command changes something.
    private struct Handover {
        static let keptLines = 10
        var isUnderWay = false
        /// A summary of the command's changes so far.
        var account: String?
        /// The error code of stdout. A closed reader does not count as an error.
        var failure: Int32?
        /// The first lines that could not be written.
        var unwritten: [String] = []
        var unwrittenCount = 0

        mutating func keep(_ bytes: ArraySlice<UInt8>) {
            for line in bytes.split(separator: UInt8(ascii: "\n")) {
                unwrittenCount += 1
                if unwrittenCount <= Self.keptLines { unwritten.append(String(decoding: line, as: UTF8.self)) }
            }
        }
    }

    /// Marks the start of changes. From now on a failed output must not stop the command halfway; the command reports
    /// it at the end.
    package func beginHandingOver() { handover.withLock { $0.isUnderWay = true } }

    /// Records a summary of the changes, for the report of a failed output.
    package func account(_ line: String) { handover.withLock { $0.account = line } }

    /// Marks the end of changes. From now on a failed output ends the command.
    package func endHandingOver() { handover.withLock { $0.isUnderWay = false } }

    /// The error to report at the end if stdout could not be written.
    package var outputError: CLIError? {
        handover.withLock { state in state.failure.map { Self.error($0, state) } }
    }

    private static func error(_ code: Int32, _ state: Handover) -> CLIError {
        var notes = state.account.map { [$0] } ?? []
        if !state.unwritten.isEmpty { notes += ["not written:"] + state.unwritten }
        let more = state.unwrittenCount - state.unwritten.count
        if more > 0 { notes.append("and \(more) more lines") }
        return CLIError(
            .unwritten,
            "cannot write to stdout: \(String(cString: strerror(code)))",
            notes: notes,
            fix: state.isUnderWay || state.account != nil ? "\(Program.name) list" : "> FILE on a disk with space"
        )
    }

    private func outputFailed(_ code: Int32, _ rest: ArraySlice<UInt8>) {
        let end: (status: ExitStatus, error: CLIError?)? = handover.withLock { state in
            if code == EPIPE { return state.isUnderWay ? nil : (.done, nil) }
            state.failure = code
            state.keep(rest)
            return state.isUnderWay ? nil : (.unwritten, Self.error(code, state))
        }
        guard let end else { return }
        if let error = end.error { report(error, asJSON: false) }
        exit(end.status.rawValue)
    }

    /// Whether output is dropped because an earlier write failed, since later output would hide the gap. The first
    /// dropped lines are kept for the report.
    private func isDropped(_ bytes: [UInt8]) -> Bool {
        handover.withLock { state in
            guard state.failure != nil else { return false }
            state.keep(bytes[...])
            return true
        }
    }
}

// MARK: - Data

extension Console {
    package func print(_ line: String) { write(line + "\n") }

    package func print(_ lines: [String]) {
        guard !lines.isEmpty else { return }
        write(lines.joined(separator: "\n") + "\n")
    }

    package func print(_ json: JSONValue, _ format: OutputFormat) {
        print(format == .jsonl ? json.serialized() : json.prettySerialized())
    }

    /// Prints a table: fitted to a terminal, complete in a pipe and with `wide`, or as comma-separated values.
    ///
    /// - Parameter least: the minimum widths of the columns, taken from an earlier part of the table.
    package func print(_ table: Table, _ format: OutputFormat, showsHeader: Bool, atLeast least: [Int] = []) {
        if format == .csv { return print(CSV.lines(table, showsHeader: showsHeader)) }
        let target = tableWidth(format).map { TableTarget.terminal(width: $0) } ?? .plain
        print(table.lines(for: target, style: output, showsHeader: showsHeader, atLeast: least))
    }

    /// The width that tables are fitted to; nil = complete lines.
    func tableWidth(_ format: OutputFormat) -> Int? { isOutputTerminal && format != .wide ? width : nil }

    /// Writes bytes unchanged, for results that are redirected to a file.
    package func write(_ bytes: [UInt8]) {
        clearStatus()
        guard !isDropped(bytes) else { return }
        guard let written = Self.writeAll(bytes, to: STDOUT_FILENO) else { return }
        let code = errno
        // A partly written line counts as not written.
        let lineStart = bytes[..<written].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        outputFailed(code, bytes[lineStart...])
    }

    package func write(_ text: String) { write(Array(text.utf8)) }

    /// The width of the terminal in cells.
    package var width: Int {
        var size = winsize()
        let request = UInt(TIOCGWINSZ)
        guard ioctl(STDOUT_FILENO, request, &size) == 0, size.ws_col > 0 else { return TableTarget.defaultWidth }
        return Int(size.ws_col)
    }

    /// Writes all bytes, with repeated calls if necessary.
    ///
    /// - Returns: nil if all bytes were written; otherwise the number of written bytes, with the reason in `errno`.
    private static func writeAll(_ bytes: [UInt8], to descriptor: Int32) -> Int? {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { unistdWrite(descriptor, $0.baseAddress, $0.count) }
            if count < 0 {
                if errno == EINTR || errno == EAGAIN { continue }
                return rest.startIndex
            }
            rest = rest.dropFirst(count)
        }
        return nil
    }
}

private func unistdWrite(_ descriptor: Int32, _ base: UnsafeRawPointer?, _ count: Int) -> Int {
    #if canImport(Glibc)
        Glibc.write(descriptor, base, count)
    #elseif canImport(Musl)
        Musl.write(descriptor, base, count)
    #else
        Darwin.write(descriptor, base, count)
    #endif
}

// MARK: - Everything else

extension Console {
    /// Prints a note to stderr, unless `quiet` is set.
    package func note(_ line: String) {
        guard !quiet else { return }
        writeError(line)
    }

    /// Prints a question. The person types the answer on the same line.
    package func ask(_ question: String) {
        clearStatus()
        _ = Self.writeAll(Array(SafeText.line(question).utf8), to: STDERR_FILENO)
    }

    /// Writes a log line, even if `quiet` is set.
    package func log(_ line: String) { writeError(line) }

    /// Warns about nodes whose queues are missing in the output.
    package func warn(_ absent: [AbsentNode]) { for node in absent { warn(node.sentence) } }

    package func warn(_ refusals: [WriteRefusal]) {
        for refusal in refusals { warn("\(SafeText.line(refusal.sentence)); try: \(SafeText.line(refusal.fix))") }
    }

    package func warn(_ line: String) { writeError(errors.paint("warning:", .warning) + " " + line) }

    /// Warns once that a wait continues although Redis does not answer.
    func warnOfOutage(_ error: OperationsError) {
        let isFirst = hasWarnedOfOutage.withLock { hasWarned in
            defer { hasWarned = true }
            return !hasWarned
        }
        guard isFirst else { return }
        clearStatus()
        warn(SafeText.line("Redis does not answer; the wait goes on: \(error.message)"))
    }

    package func report(_ error: CLIError, asJSON: Bool) {
        let error = error.withTypedIDs
        if asJSON { return writeError(error.json.serialized()) }
        var lines = error.lines
        lines[0] = errors.paint("error:", .dead) + lines[0].dropFirst("error:".count)
        writeError(lines.joined(separator: "\n"))
    }

    /// Shows a status line that the next one replaces. Only on a terminal, and at most ten times a second.
    package func showStatus(_ line: String) {
        guard isErrorTerminal, !quiet else { return }
        let now = ContinuousClock.now
        let isDue = status.withLock { status in
            if let last = status.shownAt, now - last < .milliseconds(100) { return false }
            status = StatusLine(shown: true, shownAt: now)
            return true
        }
        guard isDue else { return }
        let text = "\r" + line.truncated(toWidth: width - 1) + "\u{1B}[K"
        _ = Self.writeAll(Array(text.utf8), to: STDERR_FILENO)
    }

    package func clearStatus() {
        let wasShown = status.withLock { status in
            defer { status.shown = false }
            return status.shown
        }
        guard wasShown else { return }
        _ = Self.writeAll(Array("\r\u{1B}[K".utf8), to: STDERR_FILENO)
    }

    private func writeError(_ text: String) {
        clearStatus()
        _ = Self.writeAll(Array((text + "\n").utf8), to: STDERR_FILENO)
    }
}
