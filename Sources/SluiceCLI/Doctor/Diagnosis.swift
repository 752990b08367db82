import Operations

/// A finding of `doctor`: severity, code, place, text and fix.
struct Diagnosis: Sendable, Equatable {
    enum Severity: String, Sendable, Comparable, CaseIterable {
        /// Information.
        case note
        /// A problem that does not yet affect operations.
        case warning
        /// An operation is lost, doubled or wrong.
        case error

        static func < (left: Self, right: Self) -> Bool {
            (allCases.firstIndex(of: left) ?? 0) < (allCases.firstIndex(of: right) ?? 0)
        }
    }

    var severity: Severity
    /// A stable code for programs.
    var code: String
    /// The queue; nil = the server or the whole namespace.
    var queue: String?
    /// The id of an operation or a worker, or the name of a setting.
    var subject: String
    var message: String
    /// A command that fixes the problem, if there is one.
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

    /// Makes a diagnosis of a script's finding.
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

    /// All other findings of scripts are errors.
    private static let severities: [String: Severity] = [
        "leftover": .warning, "clockBack": .warning, "wake": .note, "unregistered": .warning,
    ]
}

/// The findings of `doctor` so far. Of each kind it keeps the first ones and counts the others.
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

    /// Moves wrong counters to the end of the repairs: a counter may be wrong only because of another error of the queue.
    mutating func putCountersLast() {
        let isCounter = { (diagnosis: Diagnosis) in ["counter", "sum"].contains(diagnosis.code) }
        let broken = Set(diagnoses.filter { $0.severity == .error && !isCounter($0) }.map(\.queue))
        for index in diagnoses.indices where isCounter(diagnoses[index]) && broken.contains(diagnoses[index].queue) {
            diagnoses[index].fix = "fix the other errors of this queue first"
        }
        diagnoses = diagnoses.filter { !isCounter($0) } + diagnoses.filter(isCounter)
    }

    func count(_ severity: Diagnosis.Severity) -> Int { bySeverity[severity] ?? 0 }

    /// The most severe findings first, otherwise in the order in which they were found.
    var sorted: [Diagnosis] {
        Diagnosis.Severity.allCases.reversed().flatMap { severity in diagnoses.filter { $0.severity == severity } }
    }

    /// Kinds with more findings than are kept, and how many more.
    var more: [(kind: Kind, count: Int)] {
        counts.filter { $0.value > Self.kept }.map { ($0.key, $0.value - Self.kept) }
            .sorted { ($0.kind.queue ?? "", $0.kind.code) < ($1.kind.queue ?? "", $1.kind.code) }
    }
}
