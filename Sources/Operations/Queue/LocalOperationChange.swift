/// How far the work of an operation is.
public struct LocalOperationProgress: Sendable, Equatable {
    /// 0 to 1.
    public var fraction: Double
    /// A few words for people.
    public var message: String
}

/// Something that happened to an operation: what Foundation tells by key-value observing.
public struct LocalOperationChange: Sendable {
    /// The operation.
    public let operation: LocalOperation
    /// What happened.
    public let kind: Kind

    /// What can happen.
    public enum Kind: Sendable, Equatable {
        /// It is in this state now. The first change of every stream says where the operation stands, or stood when it was added.
        case state(OperationState)
        /// It executes and was told to end.
        case cancelRequested(reason: String)
        /// It was told to end at its time limit, has not, and is given up on: next comes its end. See `LocalOperation.isStuck`.
        case stuck
        /// Its body said how far it is.
        case progress(LocalOperationProgress)
        /// Its body wrote a line to its log, as a `DistributedOperation` does with its context.
        case log(String)
    }
}

/// How an operation ended.
public struct LocalOperationEnding: Sendable {
    /// `finished`, `dead` or `cancelled`.
    public let state: OperationState
    /// What its body threw at last, or why it is dead otherwise; nil for one that finished, or never ran.
    public let error: (any Error)?
    /// The reason given with its cancel; nil if none was requested.
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
