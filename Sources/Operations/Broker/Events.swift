/// The transitions `from` to `to` of one queue. A change without a transition has a number of its own, and no counts.
package struct EventBatch: Sendable, Equatable {
    package var queue: String
    package var from: Int64
    package var to: Int64
    /// The number of operations that entered each state.
    package var counts: [OperationState: Int]
    /// The transitions themselves; fewer than `to − from + 1` if one step made many.
    package var transitions: [(id: OperationID, state: OperationState)]
    /// The change of a client or an operator, or the recovery, that this step made; nil = another step of a worker.
    package var change: QueueChange?
    /// The operation of a change that affects only one, whether or not its state changed.
    package var subject: OperationID?

    package init(
        queue: String,
        from: Int64,
        to: Int64,
        counts: [OperationState: Int],
        transitions: [(id: OperationID, state: OperationState)],
        change: QueueChange? = nil,
        subject: OperationID? = nil
    ) {
        self.queue = queue
        self.from = from
        self.to = to
        self.counts = counts
        self.transitions = transitions
        self.change = change
        self.subject = subject
    }

    package static func == (left: Self, right: Self) -> Bool {
        left.queue == right.queue && left.from == right.from && left.to == right.to && left.counts == right.counts
            && left.change == right.change && left.subject == right.subject
            && left.transitions.elementsEqual(right.transitions, by: ==)
    }
}

extension EventBatch {
    /// Whether the batch names the operation, or has transitions that it does not name.
    package func mayConcern(_ id: OperationID) -> Bool {
        if subject == id || transitions.contains(where: { $0.id == id }) { return true }
        let isOnlyChange = transitions.isEmpty && subject != nil
        return !isOnlyChange && Int64(transitions.count) < to - from + 1
    }
}

/// A change that a client or an operator made in a queue, and its author.
package struct QueueChange: Sendable, Equatable {
    /// The verb as the scripts write it.
    package enum Verb: String, Sendable, CaseIterable {
        case cancel, cancelQueue, retry, edit, hold, release, remove, purge, pause, resume, limit, control, depend
        case setStandingCancel, removeStandingCancel
        case setSchedule, pauseSchedule, resumeSchedule, removeSchedule
        /// A person enqueued the operation of a schedule once more.
        case runSchedule
        /// A person enqueued an operation, or repeated one, by a form.
        case enqueue, rerun
        /// Beginning and end of a change of many operations, in each queue of it; `count` is that of all queues.
        case startChange, endChange
        /// An unreadable change of many operations was removed.
        case removeChange
        /// A worker could not read the schedule.
        case stopSchedule
        /// Operations were recovered from a lost worker, which is `by`.
        case recover
    }

    package var verb: Verb
    /// The author, as one word.
    package var by: String
    /// The number of changed operations; 0 for a change of a queue or a worker.
    package var count: Int
    /// A reason, a worker and its setting, or a duration; one line, may be empty.
    package var detail: String

    /// Whether a client or an operator made the change; false for a recovery by workers.
    package var isOfPerson: Bool { verb != .recover }

    package init(_ verb: Verb, by: String, count: Int = 0, detail: String = "") {
        self.verb = verb
        self.by = by
        self.count = count
        self.detail = detail
    }
}
