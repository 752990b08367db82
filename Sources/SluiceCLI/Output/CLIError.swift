import Operations
import Selectors
import TerminalText

/// An error as the command line prints it: the event, notes, and a remedy.
package struct CLIError: Error, Equatable, Sendable {
    package var status: ExitStatus
    /// The event, in one line.
    package var message: String
    /// Notes, such as a list of attempts, or a line for each refused target.
    package var notes: [String]
    /// The remedy, which is the last line.
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
    /// The lines to print, without control characters.
    package var lines: [String] {
        ["error: " + SafeText.line(message)] + notes.map { "  " + SafeText.line($0) }
            + (fix.map { ["  try:  " + SafeText.line($0)] } ?? [])
    }

    /// The error with the typed text in place of each id that was derived from a text. Commands in `fix` keep the ids.
    var withTypedIDs: CLIError {
        CLIError(status, TypedIDs.named(message), notes: notes.map(TypedIDs.named), fix: fix)
    }

    /// The error as JSON.
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
