import Operations
import TerminalText

extension WaitRule {
    /// The operation waits for the end of its dependencies.
    package static let needs = WaitRule(code: "needs") { situation in
        let links = situation.detail.links
        guard situation.state == .blocked, links.unmetCount > 0 else { return nil }
        if let group = NeededGroup(situation) { return group.reason }
        let unmet = links.needs.filter { !$0.isMet }
        if links.isOpen, unmet.isEmpty {
            return WaitReason(
                "its producer has not named all dependencies yet",
                fix: .release(situation.ownName)
            )
        }
        let waits = links.waitCount
        var facts = unmet.prefix(SituationReader.neededRead).map {
            WaitReason.Fact("needs", "\($0.dependency.name), \(situation.text(of: $0))")
        }
        if waits > facts.count { facts.append(.init("others", QuantityText.grouped(waits - facts.count))) }
        if links.isOpen { facts.append(.init("open", "its producer has not named all dependencies yet")) }
        let stuck = unmet.first { $0.isStuck }
        let text = "it waits for \(QuantityText.grouped(waits)) \(waits == 1 ? "operation" : "operations")"
        if stuck == nil, let lost = unmet.prefix(SituationReader.neededRead).first(where: situation.isLost) {
            return WaitReason(
                "\(text), of which \(lost.dependency.name) is not in its queue; after 10 minutes that counts as its removal",
                facts,
                fix: situation.wayWithout
            )
        }
        guard let stuck else {
            return WaitReason(text, facts, fix: unmet.first.map { .explain($0.dependency.name) })
        }
        let isGone = stuck.state == nil
        return WaitReason(
            "\(text), of which \(stuck.dependency.name) \(isGone ? "is gone" : "is \(stuck.text)")",
            facts,
            fix: !isGone
                ? .retry(stuck.dependency.name)
                : situation.wayWithout
        )
    }
}

extension Situation {
    /// The command that runs an ended operation again or shows its result; nil = none.
    package var wayBack: Remedy? {
        if detail.isGroup, state != .dead { return nil }
        if state == .finished { return .showResult(ownName) }
        guard detail.cancel?.by == "dependency", let failed = detail.links.needs.first(where: { $0.isStuck }) else {
            return .retry(ownName)
        }
        // A retried operation would wait for the missing dependency; a new operation has no dependencies.
        guard failed.state != nil else { return .rerun(ownName) }
        // A retry of the operation makes it wait until the group is retried.
        let isGroup = needed[failed.dependency.name]?.isGroup ?? false
        return isGroup ? .retry(ownName) : .retryTree(failed.dependency.name)
    }

    /// The command that ends the wait for a dependency that never ends.
    fileprivate var wayWithout: Remedy { detail.refusesRelease ? .cancel(ownName) : .release(ownName) }

    /// Whether a dependency in another queue is missing although no end of it was reported. That queue's server has
    /// lost it in a failover.
    fileprivate func isLost(_ need: OperationNeeds.Need) -> Bool {
        need.dependency.queue != nil && need.state == nil && !need.hasHeard && needed[need.dependency.name] == nil
    }

    /// `executing`, `group nightly, blocked (hold)`
    fileprivate func text(of need: OperationNeeds.Need) -> String {
        let text = need.text(state: stateText(of: need))
        guard let detail = needed[need.dependency.name], detail.isGroup else { return text }
        return "\(detail.title(view)), \(text)"
    }

    /// The state of a dependency that is among the first and was read. For a dependency in another queue, this is its
    /// current state until its end is reported.
    package func stateText(of need: OperationNeeds.Need) -> String {
        if isLost(need) { return "not there" }
        guard need.state == nil, !need.hasHeard, let detail = needed[need.dependency.name] else {
            return need.stateText
        }
        return detail.state.rawValue
    }
}

extension OperationNeeds.Need {
    /// `executing`, `dead (hold)`
    package var text: String { text(state: stateText) }

    fileprivate func text(state: String) -> String { policy.word.map { "\(state) (\($0))" } ?? state }
}
