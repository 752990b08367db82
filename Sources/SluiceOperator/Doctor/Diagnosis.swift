import Operations

/// A finding of `doctor`: severity, code, place, text and fix.
package struct Diagnosis: Sendable, Equatable {
    package enum Severity: String, Sendable, Comparable, CaseIterable {
        /// A fact that is no problem.
        case note
        /// A problem that does not yet affect operations.
        case warning
        /// An operation is lost, duplicated or wrong.
        case error

        package static func < (left: Self, right: Self) -> Bool {
            (allCases.firstIndex(of: left) ?? 0) < (allCases.firstIndex(of: right) ?? 0)
        }
    }

    package var severity: Severity
    /// A stable code for programs to compare.
    package var code: String
    /// The queue; nil = the server or the whole namespace.
    package var queue: String?
    /// The id of an operation or a worker, or the name of a setting.
    package var subject: String
    package var message: String
    /// A command that fixes the problem, or another remedy in words.
    package var fix: String?
    /// The effect of `doctor --fix` in words; nil = none.
    package var repair: String?
    /// The number of affected operations. Findings with the largest number come first.
    package var weight = 0
    /// The objects that the finding is about; empty for the server.
    package var objects: [Object] = []
    /// The fix as a typed remedy; nil = another one, or none.
    package var remedy: Remedy?

    package init(
        _ severity: Severity,
        _ code: String,
        queue: String? = nil,
        _ subject: String,
        _ message: String,
        fix: String? = nil
    ) {
        self.severity = severity
        self.code = code
        self.queue = queue
        self.subject = subject
        self.message = message
        self.fix = fix
    }

    /// Makes a diagnosis from a script's finding.
    package init(_ finding: AuditFinding) {
        self.init(
            Self.severities[finding.code] ?? .error,
            finding.code,
            queue: finding.queue,
            finding.subject,
            finding.detail,
            fix: finding.fix.isEmpty ? nil : Self.command
        )
        if !finding.fix.isEmpty { repair = finding.fix }
        objects = [Object(finding)]
    }

    /// The command that fixes all fixable findings.
    package static let command = "\(Program.name) doctor --deep --fix"

    /// The severities of findings that are no errors.
    private static let severities: [String: Severity] = [
        "leftover": .warning, "clockBack": .warning, "wake": .note, "unregistered": .warning,
        "missing": .warning,
    ]
}
