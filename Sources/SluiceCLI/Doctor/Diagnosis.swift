import Operations

/// A finding of `doctor`: severity, code, place, text and fix.
struct Diagnosis: Sendable, Equatable {
    enum Severity: String, Sendable, Comparable, CaseIterable {
        /// A fact that is no problem.
        case note
        /// A problem that does not yet affect operations.
        case warning
        /// An operation is lost, duplicated or wrong.
        case error

        static func < (left: Self, right: Self) -> Bool {
            (allCases.firstIndex(of: left) ?? 0) < (allCases.firstIndex(of: right) ?? 0)
        }
    }

    var severity: Severity
    /// A stable code for programs to compare.
    var code: String
    /// The queue; nil = the server or the whole namespace.
    var queue: String?
    /// The id of an operation or a worker, or the name of a setting.
    var subject: String
    var message: String
    /// A command that fixes the problem, or another remedy in words.
    var fix: String?
    /// The effect of `doctor --fix` in words; nil = none.
    var repair: String?
    /// The number of affected operations. Findings with the largest number come first.
    var weight = 0

    init(
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
    init(_ finding: AuditFinding) {
        self.init(
            Self.severities[finding.code] ?? .error,
            finding.code,
            queue: finding.queue,
            finding.subject,
            finding.detail,
            fix: finding.fix.isEmpty ? nil : Self.command
        )
        if !finding.fix.isEmpty { repair = finding.fix }
    }

    /// The command that fixes all fixable findings.
    static let command = "\(Program.name) doctor --deep --fix"

    /// The severities of findings that are no errors.
    private static let severities: [String: Severity] = [
        "leftover": .warning, "clockBack": .warning, "wake": .note, "unregistered": .warning,
        "missing": .warning,
    ]
}
