import Operations
import TerminalText

/// An error as the command line reports it: what happened, what was tried, what to do.
package struct CLIError: Error, Equatable, Sendable {
    package var status: ExitStatus
    /// What happened: one line.
    package var message: String
    /// What was tried, or one line for each refused target.
    package var notes: [String]
    /// What to do; always the last line.
    package var fix: String?

    package init(_ status: ExitStatus, _ message: String, notes: [String] = [], fix: String? = nil) {
        self.status = status
        self.message = message
        self.notes = notes
        self.fix = fix
    }

    package static func usage(_ message: String, fix: String? = nil) -> CLIError { CLIError(.usage, message, fix: fix) }
}

extension CLIError: CustomStringConvertible {
    package var description: String { message + (fix.map { "; try: \($0)" } ?? "") }
}

extension CLIError {
    /// The lines for people, without control characters.
    package var lines: [String] {
        ["error: " + SafeText.line(message)] + notes.map { "  " + SafeText.line($0) }
            + (fix.map { ["  try:  " + SafeText.line($0)] } ?? [])
    }

    /// The object for programs.
    package var json: JSONValue {
        [
            "v": 1,
            "error": [
                "code": .string("\(status)"),
                "exit": .number(status.rawValue),
                "message": .string(message),
                "notes": .array(notes.map { .string($0) }),
                "fix": JSONValue(fix),
            ],
        ]
    }
}
