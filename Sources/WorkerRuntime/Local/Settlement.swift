import Operations

/// How a held operation leaves this worker.
enum Settlement: Sendable {
    case finished(result: [UInt8])
    case failed(Failure.Disposition, error: [UInt8])
    case returned(Return.Place)

    /// The state that it ends in; nil if it does not end.
    var end: OperationState? {
        switch self {
        case .finished: .finished
        case .failed(.dead, _): .dead
        case .failed(.cancelled, _), .failed(.caught, _): .cancelled
        case .failed(.retry, _), .failed(.snoozed, _), .failed(.yielded, _), .returned: nil
        }
    }

    /// The operation is run again, and no attempt is used.
    var usesNoAttempt: Bool {
        switch self {
        case .failed(.snoozed, _), .failed(.yielded, _), .returned: true
        case .finished, .failed: false
        }
    }
}

/// An operation that has ended here, and of which Redis has yet to be told.
struct Ended: Sendable {
    let operation: HeldOperation
    let settlement: Settlement
    /// It was sent before, and no answer came.
    var isRepeat = false

    /// Roughly what it adds to a call, in bytes.
    var byteCount: Int {
        switch settlement {
        case .finished(let result): result.count + 64
        case .failed(_, let error): error.count + 64
        case .returned: 64
        }
    }

    /// How much time it takes the server, where a tracked operation that finishes counts 1 and an untracked one, which is many times
    /// cheaper, nothing.
    var effort: Int {
        switch settlement {
        case .finished: operation.claimed.header.tracked ? 1 : 0
        case .failed, .returned: 2
        }
    }
}
