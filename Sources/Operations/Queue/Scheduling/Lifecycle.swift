/// The state machine of a local operation: which state may follow which.
///
/// A new local operation is `blocked` or `ready`, in a queue or outside. Each runs once; a retry decision makes it run
/// again after `retrying`. `scheduled` and `expired` belong to queues with due times and do not occur here.
enum Lifecycle {
    static func allows(_ old: OperationState, _ new: OperationState) -> Bool {
        switch (old, new) {
        case (.blocked, .ready), (.blocked, .cancelled): true
        case (.ready, .blocked), (.ready, .executing), (.ready, .cancelled): true
        case (.executing, .finished), (.executing, .dead), (.executing, .cancelled), (.executing, .retrying): true
        case (.retrying, .ready), (.retrying, .cancelled): true
        default: false
        }
    }
}
