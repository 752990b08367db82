import Foundation
import Operations
import SluiceMonitor
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
    /// No notes and no progress, only data and errors.
    package let quiet: Bool
    private let handover = Mutex(Handover())
    private let status = Mutex(StatusLine())

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
    /// What is known of stdout while a command changes something.
    private struct Handover {
        static let keptLines = 10
        var isUnderWay = false
        /// What was done, if the command says it.
        var account: String?
        /// Why stdout takes no more; a reader that went away is no failure.
        var failure: Int32?
        /// The first lines that stdout did not take.
        var unwritten: [String] = []
        var unwrittenCount = 0

        mutating func keep(_ bytes: ArraySlice<UInt8>) {
            for line in bytes.split(separator: UInt8(ascii: "\n")) {
                unwrittenCount += 1
                if unwrittenCount <= Self.keptLines { unwritten.append(String(decoding: line, as: UTF8.self)) }
            }
        }
    }

    /// From here on the command changes something, and an output that fails must not stop it half-way: it is reported at the end.
    package func beginHandingOver() { handover.withLock { $0.isUnderWay = true } }

    /// Says what was done, for the report of an output that failed.
    package func account(_ line: String) { handover.withLock { $0.account = line } }

    /// From here on the command only shows something: an output that fails ends it.
    package func endHandingOver() { handover.withLock { $0.isUnderWay = false } }

    /// What to report at the end of the command: stdout did not take everything.
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

    /// Output is dropped, but for its first lines, once stdout took no more: what comes later would hide the gap.
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

    /// A table: fitted to a terminal, whole in a pipe and with `wide`, or as comma-separated values.
    package func print(_ table: Table, _ format: OutputFormat, showsHeader: Bool) {
        if format == .csv { return print(CSV.lines(table, showsHeader: showsHeader)) }
        let target = tableWidth(format).map { TableTarget.terminal(width: $0) } ?? .plain
        print(table.lines(for: target, style: output, showsHeader: showsHeader))
    }

    /// To how many cells lines of tables are fitted; nil = they are whole.
    func tableWidth(_ format: OutputFormat) -> Int? { isOutputTerminal && format != .wide ? width : nil }

    /// Bytes as they are, for results that somebody redirects to a file.
    package func write(_ bytes: [UInt8]) {
        clearStatus()
        guard !isDropped(bytes) else { return }
        guard let written = Self.writeAll(bytes, to: STDOUT_FILENO) else { return }
        let code = errno
        // A line of which a part was written is not written.
        let lineStart = bytes[..<written].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        outputFailed(code, bytes[lineStart...])
    }

    package func write(_ text: String) { write(Array(text.utf8)) }

    /// Cells in a line of the terminal.
    package var width: Int {
        var size = winsize()
        let request = UInt(TIOCGWINSZ)
        guard ioctl(STDOUT_FILENO, request, &size) == 0, size.ws_col > 0 else { return TableTarget.defaultWidth }
        return Int(size.ws_col)
    }

    /// - Returns: nil if all was written; else how many bytes were, and `errno` says why not all.
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
    /// Something a person wants to know.
    package func note(_ line: String) {
        guard !quiet else { return }
        writeError(line)
    }

    /// A question; the answer is typed on the same line.
    package func ask(_ question: String) {
        clearStatus()
        _ = Self.writeAll(Array(SafeText.line(question).utf8), to: STDERR_FILENO)
    }

    /// A line of a log: written whatever else is quiet.
    package func log(_ line: String) { writeError(line) }

    /// Says what is missing in what was shown.
    package func warn(_ absent: [AbsentNode]) { for node in absent { warn(node.sentence) } }

    package func warn(_ line: String) { writeError(errors.paint("warning:", .warning) + " " + line) }

    package func report(_ error: CLIError, asJSON: Bool) {
        if asJSON { return writeError(error.json.serialized()) }
        var lines = error.lines
        lines[0] = errors.paint("error:", .dead) + lines[0].dropFirst("error:".count)
        writeError(lines.joined(separator: "\n"))
    }

    /// A line that the next one replaces, on a terminal only, at most ten times a second.
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
