import Operations
import TerminalText

extension OperationDetail {
    /// The most important fact of an operation beside its state, for a list; nil = none.
    ///
    /// Depending on the state, the fact is the progress, the last error, the reason of a cancel, a hold, what it waits
    /// for, or the tags.
    package var shownNote: String? {
        if let group = GroupProgress(self) { return group.shortText }
        if let hold, state == .blocked { return "held by \(hold.by)" + (hold.reason.isEmpty ? "" : ": \(hold.reason)") }
        switch state {
        case .executing:
            if cancel != nil { return "cancelling" }
            return progress.map { "\(QuantityText.percent($0.fraction)) \($0.message)" }
        case .retrying, .dead: return errors.last?.failure.sentence
        case .cancelled: return cancel?.reason
        case .blocked: return waitNote ?? shownTags
        case .scheduled, .ready, .finished, .expired: return shownTags
        }
    }

    private var shownTags: String { envelope.tags.joined(separator: " ") }

    /// The cause of a blocked operation: a unique key, or its dependencies.
    private var waitNote: String? {
        if waitsForTurn { return "waits for its unique key" }
        guard links.waitCount > 0 else { return nil }
        let open = links.needs.filter { !$0.isMet }
        guard links.waitCount == 1, let need = open.first else {
            return "waits for \(QuantityText.operations(links.waitCount))"
        }
        return "waits for …\(need.dependency.id.description.suffix(ShortID.minimum))"
    }
}
