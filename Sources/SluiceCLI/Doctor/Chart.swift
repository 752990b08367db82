/// The findings of `doctor` so far. Of each kind it keeps the first ones and counts the others.
struct Chart: Sendable {
    struct Kind: Hashable, Sendable {
        var severity: Diagnosis.Severity
        var code: String
        var queue: String?

        fileprivate init(_ diagnosis: Diagnosis) {
            severity = diagnosis.severity
            code = diagnosis.code
            queue = diagnosis.queue
        }

        fileprivate var isOfCounters: Bool { ["counter", "sum"].contains(code) }
    }

    /// Findings of a kind that are kept whole.
    private static let kept = 20
    /// Findings of a kind whose subjects are remembered. So many of a kind are no accident of one look.
    private static let remembered = 1000

    private(set) var diagnoses: [Diagnosis] = []
    private(set) var counts: [Kind: Int] = [:]
    private var subjects: [Kind: Set<String>] = [:]

    /// Adds a finding. A key that the server lists twice is found twice.
    mutating func add(_ diagnosis: Diagnosis) {
        guard !diagnoses.contains(diagnosis) else { return }
        let kind = Kind(diagnosis)
        counts[kind, default: 0] += 1
        let count = counts[kind, default: 0]
        if count <= Self.kept { diagnoses.append(diagnosis) }
        if count <= Self.remembered { subjects[kind, default: []].insert(diagnosis.subject) }
    }

    mutating func add(_ other: Chart) {
        diagnoses += other.diagnoses
        counts.merge(other.counts, uniquingKeysWith: +)
        subjects.merge(other.subjects) { $0.union($1) }
    }

    /// Moves wrong counters to the end: a counter may be wrong only because of another error of the queue.
    mutating func putCountersLast() {
        let isCounter = { (diagnosis: Diagnosis) in Kind(diagnosis).isOfCounters }
        diagnoses = diagnoses.filter { !isCounter($0) } + diagnoses.filter(isCounter)
    }

    func count(_ severity: Diagnosis.Severity) -> Int {
        counts.reduce(0) { $0 + ($1.key.severity == severity ? $1.value : 0) }
    }

    /// The most severe findings first, of these those that are about most operations, otherwise in the order in which they were found.
    var sorted: [Diagnosis] {
        Diagnosis.Severity.allCases.reversed().flatMap { severity in
            let found = diagnoses.enumerated().filter { $0.element.severity == severity }
            return found.sorted { ($1.element.weight, $0.offset) < ($0.element.weight, $1.offset) }.map(\.element)
        }
    }

    /// Kinds with more findings than are kept, and how many more.
    var more: [(kind: Kind, count: Int)] {
        counts.filter { $0.value > Self.kept }.map { ($0.key, $0.value - Self.kept) }
            .sorted { ($0.kind.queue ?? "", $0.kind.code) < ($1.kind.queue ?? "", $1.kind.code) }
    }
}

// MARK: - Looking again

extension Chart {
    /// Queues of which something was found.
    var queues: Set<String> { Set(counts.keys.compactMap(\.queue)) }

    /// Keeps, of findings in queues, those that another look has found as well: what is on its way from one place to another is found once.
    mutating func keepThose(alsoIn other: Chart) {
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
    /// How many findings `doctor --fix` can fix.
    var fixable: Int {
        let kinds = Set(diagnoses.filter { $0.repair != nil }.map { Kind($0) })
        return kinds.reduce(0) { $0 + counts[$1, default: 0] }
    }

    /// The codes to fix in each queue. Places come first, since counters follow from them, and sums from both.
    func codes(of step: FixStep) -> [String: Set<String>] {
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
enum FixStep: CaseIterable, Sendable {
    case places, counters, sums

    func fixes(_ code: String) -> Bool {
        switch self {
        case .places: code != "counter" && code != "sum"
        case .counters: code == "counter"
        case .sums: code == "sum"
        }
    }
}
