import Operations

/// How a held operation leaves this worker.
enum Settlement: Sendable {
    case finished(result: [UInt8])
    case failed(Failure.Disposition, error: [UInt8])
    case returned(Return.Place)

    /// The state in which the operation ends; nil if it does not end.
    var end: OperationState? {
        switch self {
        case .finished: .finished
        case .failed(.dead, _): .dead
        case .failed(.cancelled, _), .failed(.cancelledByStanding, _): .cancelled
        case .failed(.retry, _), .failed(.snoozed, _), .failed(.yielded, _), .returned: nil
        }
    }

    /// The name of the outcome for metrics and traces: a state, or why the operation runs again.
    var stateName: String {
        switch self {
        case .finished: "finished"
        case .failed(.dead, _): "dead"
        case .failed(.cancelled, _), .failed(.cancelledByStanding, _): "cancelled"
        case .failed(.retry, _): "retrying"
        case .failed(.snoozed, _): "snoozed"
        case .failed(.yielded, _): "yielded"
        case .returned: "returned"
        }
    }

    /// True if the operation is run again without using an attempt.
    var usesNoAttempt: Bool {
        switch self {
        case .failed(.snoozed, _), .failed(.yielded, _), .returned: true
        case .finished, .failed: false
        }
    }
}

/// An operation that has ended here, and whose end has to be reported to Redis.
struct Ended: Sendable {
    let operation: HeldOperation
    let settlement: Settlement
    /// True if the end was sent before and no answer came.
    var isRepeat = false

    /// The approximate size in a call, in bytes.
    var byteCount: Int {
        switch settlement {
        case .finished(let result): result.count + 64
        case .failed(_, let error): error.count + 64
        case .returned: 64
        }
    }

    /// The relative time that the server needs. A tracked operation that finishes counts 1; an untracked one is many
    /// times cheaper and counts 0.
    var effort: Int {
        switch settlement {
        case .finished: operation.claimed.header.tracked ? 1 : 0
        case .failed, .returned: 2
        }
    }
}
