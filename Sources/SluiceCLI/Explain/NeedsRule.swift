import Operations
import TerminalText

extension WaitRule {
    /// It waits until what it depends on has ended.
    static let needs = WaitRule(code: "needs") { situation in
        let links = situation.detail.links
        guard situation.state == .blocked, links.unmetCount > 0 else { return nil }
        let unmet = links.needs.filter { !$0.isMet }
        if links.isOpen, unmet.isEmpty {
            return WaitReason(
                "its producer has not said all that it waits for",
                fix: ["release", situation.id]
            )
        }
        let waits = links.unmetCount - (links.isOpen ? 1 : 0)
        var facts = unmet.prefix(5).map { WaitReason.Fact("needs", "\($0.dependency.name), \($0.text)") }
        if waits > facts.count { facts.append(.init("others", QuantityText.grouped(waits - facts.count))) }
        if links.isOpen { facts.append(.init("open", "its producer has not said all that it waits for")) }
        let stuck = unmet.first { $0.isStuck }
        let text = "it waits for \(QuantityText.grouped(waits)) \(waits == 1 ? "operation" : "operations")"
        guard let stuck else {
            return WaitReason(text, facts, fix: unmet.first.map { ["explain", "\($0.dependency.name)"] })
        }
        let isGone = stuck.state == nil
        return WaitReason(
            "\(text), of which \(stuck.dependency.name) \(isGone ? "is gone" : "is \(stuck.text)")",
            facts,
            fix: !isGone
                ? ["retry", "\(stuck.dependency.name)"]
                // What also waits for its turn at a key cannot be released.
                : [situation.detail.waitsForTurn ? "cancel" : "release", situation.id]
        )
    }
}

extension Situation {
    /// What runs again what has ended, or shows its result.
    var wayBack: [String] {
        if state == .finished { return ["result", id] }
        guard detail.cancel?.by == "dependency", let failed = detail.links.needs.first(where: { $0.isStuck }) else {
            return ["retry", id]
        }
        // A retry would wait for what is gone; a new operation waits for nothing.
        return failed.state == nil ? ["rerun", id] : ["retry", "\(failed.dependency.name)", "--tree"]
    }
}

extension OperationNeeds.Need {
    /// `executing`, `dead (hold)`
    var text: String {
        dependency.policy == .cancel ? stateText : "\(stateText) (\(dependency.policy.rawValue))"
    }
}
