/// How far a group is.
public struct GroupProgress: Sendable, Equatable {
    /// How many members it has.
    public var total: Int
    /// How many of them have ended, however.
    public var ended: Int
    /// How many of these have not finished: dead, cancelled, expired or removed.
    public var failed: Int
    /// Whether its opener may add more.
    public var isOpen: Bool
    /// The state of the group: `blocked` until it has ended.
    public var state: OperationState

    /// How many members have finished.
    public var finished: Int { ended - failed }
    /// Ended ones of all, 0 to 1; 0 as long as there are none.
    public var fraction: Double { total == 0 ? 0 : Double(ended) / Double(total) }

    /// nil = it is no group.
    package init?(_ detail: OperationDetail) {
        let links = detail.links
        guard links.group != nil else { return nil }
        total = links.needCount
        ended = links.needCount - links.waitCount
        failed = max(0, links.missCount)
        isOpen = links.isOpen
        state = detail.state
    }
}

extension OperationDetail {
    package var isGroup: Bool { links.group != nil }

    /// The name that the opener of a group has given it; nil = it is no group, or its arguments cannot be read, for example because there is no key.
    package func groupName(_ view: PayloadView) -> String? {
        guard isGroup else { return nil }
        let reading = reading(view)
        guard reading.hiddenArguments == nil else { return nil }
        return (try? JSONValue(parsing: reading.envelope.arguments))?["name"]?.stringValue
    }

    /// What people call it: `group nightly`, or the registered name of what is no group.
    package func title(_ view: PayloadView = PayloadView()) -> String {
        guard isGroup else { return envelope.name }
        return groupName(view).map { "group \($0)" } ?? "group"
    }
}
