/// The progress of an operation.
public struct LocalOperationProgress: Sendable, Equatable {
    /// The done part of the work, 0 to 1.
    public var fraction: Double
    /// A short text to display.
    public var message: String
}

/// A change of an operation, like those that Foundation reports by key-value observing.
public struct LocalOperationChange: Sendable {
    /// The changed operation.
    public let operation: LocalOperation
    /// The kind of change.
    public let kind: Kind

    /// A kind of change.
    public enum Kind: Sendable, Equatable {
        /// The operation has entered this state. The first change of a stream is the current state, or the state when
        /// the operation was added.
        case state(OperationState)
        /// A cancel was requested while the operation executes.
        case cancelRequested(reason: String)
        /// The body did not end within the grace after its time limit. The end follows. See `LocalOperation.isStuck`.
        case stuck
        /// The body reported progress.
        case progress(LocalOperationProgress)
        /// The body wrote a log line.
        case log(String)
    }
}

/// How an operation ended.
public struct LocalOperationEnding: Sendable {
    /// The terminal state: `finished`, `dead` or `cancelled`.
    public let state: OperationState
    /// The last error of the body, or another reason why the operation is dead; nil if it finished or never ran.
    public let error: (any Error)?
    /// The reason of the cancel; nil without a cancel.
    public let cancelReason: String?
    /// How often the body ran, without the runs that snoozed.
    public let attempts: Int

    package init(state: OperationState, error: (any Error)?, cancelReason: String?, attempts: Int) {
        self.state = state
        self.error = error
        self.cancelReason = cancelReason
        self.attempts = attempts
    }
}
