/// The progress of an operation.
public struct LocalOperationProgress: Sendable, Equatable {
    /// 0 to 1.
    public var fraction: Double
    /// A short text to show.
    public var message: String
}

/// A change of an operation, which Foundation reports by key-value observing.
public struct LocalOperationChange: Sendable {
    /// The operation.
    public let operation: LocalOperation
    /// What happened.
    public let kind: Kind

    /// What can happen.
    public enum Kind: Sendable, Equatable {
        /// It has entered this state. The first change of a stream is the current state, or the state when the operation was added.
        case state(OperationState)
        /// A cancel was requested while it executes.
        case cancelRequested(reason: String)
        /// Its body did not end within the grace after its time limit. The end follows. See `LocalOperation.isStuck`.
        case stuck
        /// Its body reported progress.
        case progress(LocalOperationProgress)
        /// Its body wrote a log line.
        case log(String)
    }
}

/// How an operation ended.
public struct LocalOperationEnding: Sendable {
    /// `finished`, `dead` or `cancelled`.
    public let state: OperationState
    /// The last error of its body, or another reason why it is dead; nil if it finished or never ran.
    public let error: (any Error)?
    /// The reason of the cancel; nil without a cancel.
    public let cancelReason: String?
    /// How often its body ran.
    public let attempts: Int

    package init(state: OperationState, error: (any Error)?, cancelReason: String?, attempts: Int) {
        self.state = state
        self.error = error
        self.cancelReason = cancelReason
        self.attempts = attempts
    }
}
