import TerminalText

/// The outcomes of a change, counted by kind. The memory use does not depend on the number of operations.
package struct OutcomeSummary: Sendable {
    /// The largest number of refused operations to list one by one. A longer list becomes a count for each kind.
    private static let listed = 10
    /// The number of ids to name for each kind.
    private static let named = 3

    private struct Kind: Sendable {
        var text: String
        var result: OperationOutcome.Result
        var count = 0
        var ids: [String] = []
    }

    package private(set) var total = 0
    private var kinds: [Kind] = []
    private var refused: [OperationOutcome] = []

    package init(_ outcomes: some Sequence<OperationOutcome> = []) { outcomes.forEach { add($0) } }

    package mutating func add(_ outcome: OperationOutcome) {
        total += 1
        let index = kinds.firstIndex { $0.text == outcome.kind && $0.result == outcome.result } ?? kinds.endIndex
        if index == kinds.endIndex { kinds.append(Kind(text: outcome.kind, result: outcome.result)) }
        kinds[index].count += 1
        if kinds[index].ids.count < Self.named { kinds[index].ids.append(outcome.shownID) }
        if outcome.result != .done, refused.count < Self.listed { refused.append(outcome) }
    }

    package var refusedCount: Int { kinds.reduce(0) { $0 + ($1.result == .done ? 0 : $1.count) } }
    package var doneCount: Int { total - refusedCount }
    /// The first refused operation.
    package var firstRefused: OperationOutcome? { refused.first }
    /// The result of each kind, in the order of their first operations.
    package var results: [OperationOutcome.Result] { kinds.map(\.result) }

    /// `1,480 cancelled, 20 already finished`
    package var text: String {
        kinds.map { "\(QuantityText.grouped($0.count)) \($0.text)" }.joined(separator: ", ")
    }

    /// The refused operations: each with its reason, or a line for each kind if there are many.
    package var notes: [String] {
        guard refusedCount > refused.count else { return refused.map { "\($0.shownID) \($0.text)" } }
        return kinds.filter { $0.result != .done }.map { kind in
            let more = kind.count > kind.ids.count ? " …" : ""
            return "\(QuantityText.grouped(kind.count)) \(kind.text): \(kind.ids.joined(separator: " "))\(more)"
        }
    }
}
