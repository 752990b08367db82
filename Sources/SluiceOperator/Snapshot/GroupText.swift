import Operations
import TerminalText

extension GroupProgress {
    /// `7 of 10 members have ended, 1 of these has not finished`
    package var sentence: String {
        let members = "\(QuantityText.grouped(total)) \(total == 1 ? "member" : "members")"
        let text = "\(QuantityText.grouped(ended)) of \(members) \(ended == 1 ? "has" : "have") ended"
        guard failed > 0 else { return text }
        return "\(text), \(QuantityText.grouped(failed)) of these \(failed == 1 ? "has" : "have") not finished"
    }

    /// `7/10 members, 1 failed, open`: for narrow places.
    package var shortText: String {
        let members = "\(QuantityText.grouped(ended))/\(QuantityText.grouped(total)) members"
        let failures = failed > 0 ? ", \(QuantityText.grouped(failed)) failed" : ""
        return members + failures + (state == .blocked ? isOpen ? ", open" : ", closed" : "")
    }
}

extension OperationDetail {
    /// The progress of a group in words; empty if the operation is not a group.
    package var membersText: String { GroupProgress(self)?.sentence ?? "" }
}
