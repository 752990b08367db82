import Operations
import TerminalText

extension OperationDetail {
    /// The most important fact of an operation beside its state, for a list; nil = none.
    ///
    /// Depending on the state, the fact is the progress, the last error, the reason of a cancel, a hold, or the tags.
    package var shownNote: String? {
        if let group = GroupProgress(self) { return group.shortText }
        if let hold, state == .blocked { return "held by \(hold.by)" + (hold.reason.isEmpty ? "" : ": \(hold.reason)") }
        switch state {
        case .executing:
            if cancel != nil { return "cancelling" }
            return progress.map { "\(QuantityText.percent($0.fraction)) \($0.message)" }
        case .retrying, .dead: return errors.last?.failure.sentence
        case .cancelled: return cancel?.reason
        case .scheduled, .blocked, .ready, .finished, .expired: return envelope.tags.joined(separator: " ")
        }
    }
}
