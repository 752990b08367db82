/// A change of operations, as the command line and the monitor offer it.
package enum ChangeKind: Sendable, CaseIterable {
    case cancel, retry, hold, release, remove

    /// The verb of the command line.
    package var verb: String {
        switch self {
        case .cancel: "cancel"
        case .retry: "retry"
        case .hold: "hold"
        case .release: "release"
        case .remove: "rm"
        }
    }

    package var participle: String {
        switch self {
        case .cancel: "cancelled"
        case .retry: "retried"
        case .hold: "held"
        case .release: "released"
        case .remove: "removed"
        }
    }

    /// The states in which the change is possible. In other states the operation refuses it. A conformance check
    /// compares the brokers with this.
    package var allowed: [OperationState] {
        switch self {
        case .cancel: OperationState.allCases.filter { !$0.isTerminal }
        case .retry: searched + [.scheduled]
        case .hold: [.ready, .scheduled, .retrying]
        case .release: [.blocked]
        case .remove: OperationState.allCases.filter { $0 != .executing }
        }
    }

    /// The states that a query without a state searches. A retry leaves out scheduled operations, because a producer
    /// chose their time.
    package var searched: [OperationState] {
        switch self {
        case .cancel, .hold, .release, .remove: allowed
        case .retry: [.dead, .cancelled, .expired, .retrying]
        }
    }

    /// Whether a query finds only operations with a record.
    package var needsRecord: Bool { self != .cancel }
}
