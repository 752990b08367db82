import TerminalText

/// The outcomes of targets, counted by kind. The memory use does not depend on the number of targets.
package struct TargetSummary: Sendable {
    /// The largest number of refused targets to list one by one. A longer list becomes a count for each kind.
    private static let listed = 10
    /// The number of ids to name for each kind.
    private static let named = 3

    private struct Kind: Sendable {
        var text: String
        var status: ExitStatus
        var count = 0
        var ids: [String] = []
    }

    package private(set) var total = 0
    private var kinds: [Kind] = []
    private var refused: [TargetReport.Row] = []

    package init(_ rows: some Sequence<TargetReport.Row> = []) { rows.forEach { add($0) } }

    package mutating func add(_ row: TargetReport.Row) {
        total += 1
        let index = kinds.firstIndex { $0.text == row.kind && $0.status == row.status } ?? kinds.endIndex
        if index == kinds.endIndex { kinds.append(Kind(text: row.kind, status: row.status)) }
        kinds[index].count += 1
        if kinds[index].ids.count < Self.named { kinds[index].ids.append(row.shownID) }
        if row.status != .done, refused.count < Self.listed { refused.append(row) }
    }

    package var refusedCount: Int { kinds.reduce(0) { $0 + ($1.status == .done ? 0 : $1.count) } }
    package var doneCount: Int { total - refusedCount }
    package var status: ExitStatus { .of(kinds.map(\.status)) }

    /// `1,480 cancelled, 20 already finished`
    package var text: String {
        kinds.map { "\(QuantityText.grouped($0.count)) \($0.text)" }.joined(separator: ", ")
    }

    package func error(participle: String, namespace: String, fix: String?) -> CLIError? {
        guard let first = refused.first else { return nil }
        guard total > 1 else {
            if first.status == .notFound { return .notFound(first.reference, namespace: namespace) }
            return CLIError(first.status, "\(first.shownID) \(first.text)", fix: fix)
        }
        let numbers = "\(QuantityText.grouped(refusedCount)) of \(QuantityText.grouped(total))"
        return CLIError(status, "\(numbers) not \(participle)", notes: notes, fix: fix)
    }

    private var notes: [String] {
        guard refusedCount > refused.count else { return refused.map { "\($0.shownID) \($0.text)" } }
        return kinds.filter { $0.status != .done }.map { kind in
            let more = kind.count > kind.ids.count ? " …" : ""
            return "\(QuantityText.grouped(kind.count)) \(kind.text): \(kind.ids.joined(separator: " "))\(more)"
        }
    }
}
