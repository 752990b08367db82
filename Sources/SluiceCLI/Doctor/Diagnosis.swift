import Operations

/// Something that `doctor` found: how bad it is, what and where, and what to do.
struct Diagnosis: Sendable, Equatable {
    enum Severity: String, Sendable, Comparable, CaseIterable {
        /// Worth knowing.
        case note
        /// It works, but not as it should, or not for long.
        case warning
        /// Something is lost, twice or wrong.
        case error

        static func < (left: Self, right: Self) -> Bool {
            (allCases.firstIndex(of: left) ?? 0) < (allCases.firstIndex(of: right) ?? 0)
        }
    }

    var severity: Severity
    /// Stable, for programs.
    var code: String
    /// nil = the server or the namespace as a whole.
    var queue: String?
    /// An operation's or a worker's id, or the name of a setting.
    var subject: String
    var message: String
    /// A command, where one helps.
    var fix: String?

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

    /// What a script found.
    init(_ finding: AuditFinding, repair: (String) -> String) {
        self.init(
            Self.severities[finding.code] ?? .error,
            finding.code,
            queue: finding.queue,
            finding.subject,
            finding.detail,
            fix: finding.repair.isEmpty ? nil : repair(finding.repair)
        )
    }

    /// Everything else that scripts find is an error.
    private static let severities: [String: Severity] = [
        "leftover": .warning, "clockBack": .warning, "bell": .note, "unregistered": .warning,
    ]
}

/// What `doctor` has found so far. Of many alike it keeps the first and counts the others.
struct Chart: Sendable {
    struct Kind: Hashable, Sendable {
        var code: String
        var queue: String?
    }

    private static let kept = 20

    private(set) var diagnoses: [Diagnosis] = []
    private(set) var counts: [Kind: Int] = [:]
    private var bySeverity: [Diagnosis.Severity: Int] = [:]

    mutating func add(_ diagnosis: Diagnosis) {
        bySeverity[diagnosis.severity, default: 0] += 1
        let kind = Kind(code: diagnosis.code, queue: diagnosis.queue)
        counts[kind, default: 0] += 1
        if counts[kind, default: 0] <= Self.kept { diagnoses.append(diagnosis) }
    }

    /// A count that differs because something lies in a wrong place is right again once that is mended.
    mutating func putCountersLast() {
        let isCounter = { (diagnosis: Diagnosis) in ["counter", "sum"].contains(diagnosis.code) }
        let broken = Set(diagnoses.filter { $0.severity == .error && !isCounter($0) }.map(\.queue))
        for index in diagnoses.indices where isCounter(diagnoses[index]) && broken.contains(diagnoses[index].queue) {
            diagnoses[index].fix = "mend the other errors of this queue first"
        }
        diagnoses = diagnoses.filter { !isCounter($0) } + diagnoses.filter(isCounter)
    }

    func count(_ severity: Diagnosis.Severity) -> Int { bySeverity[severity] ?? 0 }

    /// The worst first, otherwise as found.
    var sorted: [Diagnosis] {
        Diagnosis.Severity.allCases.reversed().flatMap { severity in diagnoses.filter { $0.severity == severity } }
    }

    /// Kinds of which more were found than are kept.
    var more: [(kind: Kind, count: Int)] {
        counts.filter { $0.value > Self.kept }.map { ($0.key, $0.value - Self.kept) }
            .sorted { ($0.kind.queue ?? "", $0.kind.code) < ($1.kind.queue ?? "", $1.kind.code) }
    }
}
