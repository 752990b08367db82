import Operations
import TerminalText

extension WaitRule {
    /// The rules for a group. A group never runs, so workers, times and limits do not hold it back.
    package static let ofGroups: [WaitRule] = [
        .ended, .redisRefusesWrites, .queueCancelled, .groupCancelled, .groupOpen, .members, .redisFull,
    ]

    package static let groupOpen = WaitRule(code: "groupOpen") { situation in
        let detail = situation.detail
        guard situation.state == .blocked, detail.cancel == nil, detail.links.isOpen else { return nil }
        if detail.links.group?.isOfRun == true {
            return WaitReason(
                "it ends when the run of its parent ends; operations enqueued .withCompletion then start"
            )
        }
        return WaitReason(
            "it is open: its opener has not closed it",
            detail.links.group.map { [.init("if abandoned", $0.text)] } ?? [],
            fix: .closeGroup(situation.ownName)
        )
    }

    package static let members = WaitRule(code: "members") { situation in
        let links = situation.detail.links
        guard situation.state == .blocked, situation.detail.cancel == nil, links.waitCount > 0 else { return nil }
        return WaitReason(
            "\(QuantityText.grouped(links.waitCount)) of \(links.members) have not ended",
            situation.openMembers,
            fix: situation.explainsMember
        )
    }

    /// The group counterpart of `cancelling`: no worker has to acknowledge the cancel.
    package static let groupCancelled = WaitRule(code: "cancelling") { situation in
        let count = situation.detail.links.waitCount
        guard situation.state == .blocked, let cancel = situation.detail.cancel else { return nil }
        return WaitReason(
            "it was cancelled \(situation.text(of: cancel)); \(QuantityText.grouped(count)) "
                + "\(count == 1 ? "member has" : "members have") not ended yet",
            situation.openMembers,
            fix: situation.explainsMember
        )
    }
}

extension Situation {
    private var waitingFor: [OperationNeeds.Need] { detail.links.needs.filter { !$0.isMet } }

    /// The first members that have not ended.
    fileprivate var openMembers: [WaitReason.Fact] {
        let facts = waitingFor.prefix(SituationReader.neededRead).map { need in
            let name = needed[need.dependency.name].map { " \($0.title(view))" } ?? ""
            return WaitReason.Fact("member", "\(need.dependency.name)\(name), \(stateText(of: need))")
        }
        let others = detail.links.waitCount - facts.count
        return others > 0 ? facts + [.init("others", QuantityText.grouped(others))] : facts
    }

    fileprivate var explainsMember: Remedy? { waitingFor.first.map { .explain($0.dependency.name) } }

    /// The members that have not finished, if the group has ended without them.
    package var failedMembers: [WaitReason.Fact] {
        guard let progress = GroupProgress(detail), progress.failed > 0 else { return [] }
        let failed = detail.links.needs.filter { $0.state != .finished }.prefix(5)
        return [.init("not finished", "\(QuantityText.grouped(progress.failed)) of \(detail.links.members)")]
            + failed.map { .init("member", "\($0.dependency.name), \($0.text)") }
    }
}

// MARK: - Operations that wait for a group

/// A group that an operation waits for.
package struct NeededGroup {
    private let need: OperationNeeds.Need
    private let detail: OperationDetail
    /// `group nightly`
    private let title: String

    /// nil if the operation waits for no group, or for something else as well.
    package init?(_ situation: Situation) {
        let unmet = situation.detail.links.needs.filter { !$0.isMet }
        guard situation.detail.links.unmetCount == 1, let need = unmet.first,
            let detail = situation.needed[need.dependency.name], detail.isGroup
        else { return nil }
        (self.need, self.detail, title) = (need, detail, detail.title(situation.view))
    }

    package var reason: WaitReason {
        guard detail.state == .dead, need.policy != .death else {
            return WaitReason(start, [fact], fix: .explain(need.dependency.name))
        }
        return WaitReason(
            "\(title) is dead: retry it",
            [fact],
            fix: .retry(need.dependency.name)
        )
    }

    private var start: String {
        switch need.policy {
        case .cancel, .hold, .success, .member: "it starts when \(title) has finished"
        case .run: "it starts when \(title) has ended"
        case .death: "it starts when the first member of \(title) is dead"
        }
    }

    private var fact: WaitReason.Fact { .init("group", "\(need.dependency.name), \(detail.groupText)") }
}

extension OperationNeeds {
    /// `1 member`, `12 members`
    fileprivate var members: String {
        "\(QuantityText.grouped(needCount)) \(needCount == 1 ? "member" : "members")"
    }
}

extension GroupTerms {
    /// `it is closed if nothing is added for 1h`
    package var text: String {
        if isOfRun { return "it ends when the run of its parent ends" }
        let lease = DurationText.precise(.milliseconds(leaseMilliseconds))
        return "it is \(ifAbandoned == .close ? "closed" : "cancelled") if nothing is added for \(lease)"
    }
}

extension OperationDetail {
    /// `open, 7 of 10 members have ended`
    fileprivate var groupText: String {
        let place = state == .blocked ? links.isOpen ? "open" : "closed" : state.rawValue
        return "\(place), \(membersText)"
    }
}
