/// How urgent an operation is, in Foundation's five steps.
public enum OperationPriority: String, Sendable, Codable, CaseIterable, Comparable {
    /// Work that can wait the longest.
    case veryLow
    /// Work that can wait.
    case low
    /// The default.
    case normal
    /// Work for which a user waits.
    case high
    /// Work that must start first.
    case veryHigh

    /// Foundation's number for the step: −8, −4, 0, 4 or 8.
    public var queuePriority: Int {
        switch self {
        case .veryLow: -8
        case .low: -4
        case .normal: 0
        case .high: 4
        case .veryHigh: 8
        }
    }

    /// The lane of the queue that holds operations of this priority: 0 (veryLow) to 4 (veryHigh).
    package var lane: Int { queuePriority / 4 + 2 }

    package init?(lane: Int) {
        guard let priority = Self.allCases.first(where: { $0.lane == lane }) else { return nil }
        self = priority
    }

    public static func < (left: Self, right: Self) -> Bool { left.lane < right.lane }
}
