/// The progress of a group: how many members have ended, and how.
public struct GroupProgress: Sendable, Equatable {
    /// The number of members.
    public var total: Int
    /// The number of members that have ended, in any state.
    public var ended: Int
    /// The number of members that ended without finishing: dead, cancelled, expired or removed.
    public var failed: Int
    /// Whether the opener may add more members.
    public var isOpen: Bool
    /// The state of the group: `blocked` until it has ended.
    public var state: OperationState

    /// The number of members that have finished.
    public var finished: Int { ended - failed }
    /// The part of the members that have ended, 0 to 1; 0 for a group without members.
    public var fraction: Double { total == 0 ? 0 : Double(ended) / Double(total) }

    /// Returns nil if the operation is not a group.
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

    /// Returns the name that the opener gave the group; nil = not a group, or the arguments cannot be read (for example
    /// without the key).
    package func groupName(_ view: PayloadView) -> String? {
        guard isGroup else { return nil }
        let reading = reading(view)
        guard reading.hiddenArguments == nil else { return nil }
        return (try? JSONValue(parsing: reading.envelope.arguments))?["name"]?.stringValue
    }

    /// Returns the title for people: `group nightly` for a group, or the registered name of another operation.
    package func title(_ view: PayloadView = PayloadView()) -> String {
        guard isGroup else { return envelope.name }
        return groupName(view).map { "group \($0)" } ?? "group"
    }
}
