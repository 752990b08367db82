/// The findings of `doctor` so far. A chart keeps the first findings of each kind and counts the others.
package struct Chart: Sendable {
    package struct Kind: Hashable, Sendable {
        package var severity: Diagnosis.Severity
        package var code: String
        package var queue: String?

        fileprivate init(_ diagnosis: Diagnosis) {
            severity = diagnosis.severity
            code = diagnosis.code
            queue = diagnosis.queue
        }

        fileprivate var isOfCounters: Bool { ["counter", "sum"].contains(code) }
    }

    package init() {}

    /// The number of findings of a kind that are stored in full.
    private static let kept = 20
    /// The number of findings of a kind for which the subject is remembered. More findings of one kind cannot be a
    /// coincidence of one examination.
    private static let remembered = 1000

    package private(set) var diagnoses: [Diagnosis] = []
    package private(set) var counts: [Kind: Int] = [:]
    private var subjects: [Kind: Set<String>] = [:]

    /// Adds a finding. A key that the server lists twice yields the same finding twice, and only the first one counts.
    package mutating func add(_ diagnosis: Diagnosis) {
        guard !diagnoses.contains(diagnosis) else { return }
        let kind = Kind(diagnosis)
        counts[kind, default: 0] += 1
        let count = counts[kind, default: 0]
        if count <= Self.kept { diagnoses.append(diagnosis) }
        if count <= Self.remembered { subjects[kind, default: []].insert(diagnosis.subject) }
    }

    package mutating func add(_ other: Chart) {
        diagnoses += other.diagnoses
        counts.merge(other.counts, uniquingKeysWith: +)
        subjects.merge(other.subjects) { $0.union($1) }
    }

    /// Moves wrong counters to the end, since another error of the queue may be their cause.
    package mutating func putCountersLast() {
        let isCounter = { (diagnosis: Diagnosis) in Kind(diagnosis).isOfCounters }
        diagnoses = diagnoses.filter { !isCounter($0) } + diagnoses.filter(isCounter)
    }

    package func count(_ severity: Diagnosis.Severity) -> Int {
        counts.reduce(0) { $0 + ($1.key.severity == severity ? $1.value : 0) }
    }

    /// The findings by severity, the most severe first. Within a severity, findings about more operations come first;
    /// equal ones keep the order in which they were found.
    package var sorted: [Diagnosis] {
        Diagnosis.Severity.allCases.reversed().flatMap { severity in
            let found = diagnoses.enumerated().filter { $0.element.severity == severity }
            return found.sorted { ($1.element.weight, $0.offset) < ($0.element.weight, $1.offset) }.map(\.element)
        }
    }

    /// The kinds with more findings than are kept, and the number of further findings.
    package var more: [(kind: Kind, count: Int)] {
        counts.filter { $0.value > Self.kept }.map { ($0.key, $0.value - Self.kept) }
            .sorted { ($0.kind.queue ?? "", $0.kind.code) < ($1.kind.queue ?? "", $1.kind.code) }
    }
}

// MARK: - Looking again

extension Chart {
    /// The queues with findings.
    package var queues: Set<String> { Set(counts.keys.compactMap(\.queue)) }

    /// Keeps the findings in queues that another examination has found as well. An operation that moves between two
    /// places appears only in one examination.
    package mutating func keepThose(alsoIn other: Chart) {
        for (kind, subjects) in subjects where kind.queue != nil {
            guard let others = other.subjects[kind] else {
                forget(kind)
                continue
            }
            guard counts[kind, default: 0] <= Self.remembered, !subjects.isSubset(of: others) else { continue }
            keep(kind, subjects.intersection(others))
        }
    }

    private mutating func keep(_ kind: Kind, _ left: Set<String>) {
        guard !left.isEmpty else { return forget(kind) }
        subjects[kind] = left
        diagnoses.removeAll { Kind($0) == kind && !left.contains($0.subject) }
        counts[kind] = left.count
    }

    private mutating func forget(_ kind: Kind) {
        subjects[kind] = nil
        counts[kind] = nil
        diagnoses.removeAll { Kind($0) == kind }
    }
}

// MARK: - Fixes

extension Chart {
    /// The number of findings that `doctor --fix` can fix.
    package var fixable: Int {
        let kinds = Set(diagnoses.filter { $0.repair != nil }.map { Kind($0) })
        return kinds.reduce(0) { $0 + counts[$1, default: 0] }
    }

    /// The codes to fix in each queue. Places come first because counters depend on them; sums come last because they
    /// depend on both.
    package func codes(of step: FixStep) -> [String: Set<String>] {
        var codes: [String: Set<String>] = [:]
        for diagnosis in diagnoses where diagnosis.repair != nil && step.fixes(diagnosis.code) {
            guard let queue = diagnosis.queue, step != .sums || hasOnlySums(queue) else { continue }
            codes[queue, default: []].insert(diagnosis.code)
        }
        return codes
    }

    private func hasOnlySums(_ queue: String) -> Bool {
        !counts.keys.contains { $0.queue == queue && $0.severity == .error && $0.code != "sum" }
    }
}

/// The steps of `doctor --fix`.
package enum FixStep: CaseIterable, Sendable {
    case places, counters, sums

    package func fixes(_ code: String) -> Bool {
        switch self {
        case .places: code != "counter" && code != "sum"
        case .counters: code == "counter"
        case .sums: code == "sum"
        }
    }
}
