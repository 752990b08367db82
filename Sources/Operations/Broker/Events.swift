/// Transitions `from` to `to` of one queue. A change without a transition has a number of its own, and no counts.
package struct EventBatch: Sendable, Equatable {
    package var queue: String
    package var from: Int64
    package var to: Int64
    /// How many went to each state.
    package var counts: [OperationState: Int]
    /// The transitions themselves; fewer than `to − from + 1` when many happened in one step.
    package var transitions: [(id: OperationID, state: OperationState)]
    /// The change that this step made for a client or an operator, or that it was a recovery; nil = a worker took another step.
    package var change: QueueChange?
    /// The operation of a change of one, whether or not that was a transition.
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
    /// It names the operation, or more happened than it names.
    package func mayConcern(_ id: OperationID) -> Bool {
        if subject == id || transitions.contains(where: { $0.id == id }) { return true }
        let isOnlyChange = transitions.isEmpty && subject != nil
        return !isOnlyChange && Int64(transitions.count) < to - from + 1
    }
}

/// What a client or an operator has changed in a queue, and who.
package struct QueueChange: Sendable, Equatable {
    /// The verb as the scripts write it.
    package enum Verb: String, Sendable, CaseIterable {
        case cancel, cancelQueue, retry, edit, hold, release, remove, purge, pause, resume, limit, steer, depend
        case setStandingCancel, removeStandingCancel
        case setSchedule, pauseSchedule, resumeSchedule, removeSchedule
        /// A worker could not read it.
        case stopSchedule
        /// Recovery from a lost worker, which is `by`.
        case recover
    }

    package var verb: Verb
    /// One word.
    package var by: String
    /// Operations that were changed; 0 where the change is of a queue or a worker.
    package var count: Int
    /// A reason, a worker and its setting, or how long; one line, may be empty.
    package var detail: String

    /// Whether it is for operators: not a step of workers.
    package var isOfPerson: Bool { verb != .recover }

    package init(_ verb: Verb, by: String, count: Int = 0, detail: String = "") {
        self.verb = verb
        self.by = by
        self.count = count
        self.detail = detail
    }
}
