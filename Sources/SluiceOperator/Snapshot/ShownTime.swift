import Operations

extension OperationDetail {
    /// The time that lists show, in milliseconds of server time; nil = not stored.
    ///
    /// Depending on the state, the time is when the operation is due, started, ended or was enqueued.
    package var shownTime: Int64? {
        let times: [Int64] =
            switch state {
            case .scheduled, .retrying: [record.dueAt, record.enqueuedAt]
            case .executing: [record.startedAt, record.enqueuedAt]
            case .finished, .dead, .cancelled, .expired: [record.endedAt, record.enqueuedAt]
            case .ready, .blocked: [record.enqueuedAt]
            }
        return times.first { $0 > 0 }
    }
}
