import Operations
import SluiceOperator
import TerminalText

/// The question before a change of marked operations.
package struct BulkQuestion: Sendable, Equatable {
    /// The most operations that can be changed without typing their number.
    package static let mostWithoutNumber = 100

    package private(set) var change: BulkChange
    /// The effect of the change; nil = the operations are being counted.
    package var plan: BulkPlan?
    package var reason = ""
    package var isTypingReason = false
    /// The typed number.
    package var number = ""

    init(_ change: BulkChange) { self.change = change }

    /// The times over which a retry can be spread.
    private static let spreads: [Duration?] = [nil, .seconds(60), .seconds(600), .seconds(3600)]

    /// Chooses the next time over which retried operations start evenly.
    mutating func chooseNextSpread() {
        let place = Self.spreads.firstIndex(of: change.spread) ?? 0
        change.spread = Self.spreads[(place + 1) % Self.spreads.count]
    }

    package var needsNumber: Bool { plan.map { $0.possible > Self.mostWithoutNumber } ?? false }
}

extension MonitorModel {
    /// Asks about the marked operations, or the selected one.
    mutating func ask(_ kind: ChangeKind) -> [MonitorCommand] {
        guard let target = bulkTarget else {
            notice = Notice("select an operation, or mark some with space", .warning)
            return []
        }
        let change = BulkChange(kind, target)
        dialog = .bulk(BulkQuestion(change))
        return [.plan(change)]
    }

    /// The marked operations, or the selected one, or the one on the detail screen.
    var bulkTarget: BulkTarget? {
        if let detail { return detail.isMissing ? nil : .marked([detail.address]) }
        if screen == .operations, let target = operations.target { return target }
        if case .operation(let address) = selectedItem { return .marked([address]) }
        return nil
    }

    /// Takes the counted effect of a change, if the dialog still asks about this change.
    package mutating func ingest(_ plan: BulkPlan) {
        guard case .bulk(var question) = dialog, question.change == plan.change, question.plan == nil else { return }
        guard plan.possible > 0 else {
            dialog = nil
            let found = plan.states.isEmpty ? "nothing matches" : StateCounts.text(plan.states)
            notice = Notice("nothing can be \(plan.change.kind.participle): \(found)", .warning)
            return
        }
        question.plan = plan
        dialog = .bulk(question)
    }

    /// Notes that a change could not be counted.
    package mutating func ingestPlanFailure(_ message: String) {
        guard case .bulk(let question) = dialog, question.plan == nil else { return }
        dialog = nil
        notice = Notice("not counted: \(message)", .dead)
    }

    /// Takes the progress of a change. At the end, the marks are removed and refusals are listed.
    package mutating func ingest(_ progress: BulkProgress) {
        guard let end = progress.end else {
            work = progress
            return
        }
        operations.unmark()
        work = progress.refused > 0 || end != .complete ? progress : nil
        let done = "\(QuantityText.grouped(progress.done)) \(progress.change.kind.participle)"
        switch end {
        case .complete: notice = Notice(done, .finished)
        case .stopped: notice = Notice("stopped: \(done), the others are unchanged", .warning)
        case .failed(let message): notice = Notice("\(done), then: \(message)", .dead)
        }
    }

    mutating func answer(_ question: BulkQuestion, _ key: Key) -> [MonitorCommand] {
        var question = question
        defer { if case .bulk = dialog { dialog = .bulk(question) } }
        if question.isTypingReason {
            if !TextField.edit(&question.reason, key, longest: Self.longestReason) { question.isTypingReason = false }
            return []
        }
        switch key {
        case .tab where question.change.kind == .cancel: question.isTypingReason = true
        case .tab where question.change.kind == .retry && question.plan != nil: question.chooseNextSpread()
        case .backspace, .character("0"), .character("1"), .character("2"), .character("3"), .character("4"),
            .character("5"), .character("6"), .character("7"), .character("8"), .character("9"):
            if question.needsNumber { _ = TextField.edit(&question.number, key, longest: 12) }
        case .enter where question.needsNumber && question.number == question.plan.map { "\($0.possible)" }:
            return confirm(question)
        case .character("y"), .character("Y"):
            if question.plan != nil, !question.needsNumber { return confirm(question) }
        case .character("n"), .character("N"), .character("q"), .escape, .enter:
            dialog = nil
            notice = Notice("nothing was changed")
            return [.stopWork]
        default: break
        }
        return []
    }

    private mutating func confirm(_ question: BulkQuestion) -> [MonitorCommand] {
        dialog = nil
        if let pending {
            notice = pending.waiting
            return []
        }
        let expected = question.plan?.possible ?? 0
        work = BulkProgress(question.change, expected: expected)
        return [.change(question.change, reason: question.reason, expected: expected)]
    }

    /// Handles a key while a change runs, or while its refusals are shown.
    mutating func handle(_ key: Key, during work: BulkProgress) -> [MonitorCommand] {
        if work.end != nil {
            self.work = nil
            return []
        }
        return key == .escape || key == .character("q") ? [.stopWork] : []
    }
}
