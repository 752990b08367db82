import Operations

/// The time that lists show of an operation, in milliseconds of server time.
package struct ShownTime: Sendable, Equatable {
    package enum Kind: String, Sendable {
        case due, started, ended, enqueued
    }

    package var kind: Kind
    package var milliseconds: Int64

    package init(_ kind: Kind, _ milliseconds: Int64) { (self.kind, self.milliseconds) = (kind, milliseconds) }
}

extension OperationDetail {
    /// The time that lists show, in milliseconds of server time; nil = not stored.
    package var shownTime: Int64? { shown?.milliseconds }

    /// The time that lists show, and its meaning; nil = not stored.
    ///
    /// Depending on the state, the time is when the operation is due, started, ended or was enqueued.
    package var shown: ShownTime? {
        let enqueued = ShownTime(.enqueued, record.enqueuedAt)
        let times: [ShownTime] =
            switch state {
            case .scheduled, .retrying: [ShownTime(.due, record.dueAt), enqueued]
            case .executing: [ShownTime(.started, record.startedAt), enqueued]
            case .finished, .dead, .cancelled, .expired: [ShownTime(.ended, record.endedAt), enqueued]
            case .ready, .blocked: [enqueued]
            }
        return times.first { $0.milliseconds > 0 }
    }
}
