/// A change of an operation that waits.
package struct OperationEdit: Sendable, Equatable {
    /// The record as the caller read it. The change is refused if the header differs by now, or the envelope in case of
    /// a new one.
    package var record: OperationRecord
    /// The new priority; nil = unchanged.
    package var priority: OperationPriority?
    /// The new time to wait in milliseconds, from now on; nil = unchanged.
    package var delayMilliseconds: Int64?
    /// The new envelope; nil = unchanged.
    package var envelope: [UInt8]?

    package init(
        _ record: OperationRecord,
        priority: OperationPriority? = nil,
        delayMilliseconds: Int64? = nil,
        envelope: [UInt8]? = nil
    ) {
        self.record = record
        self.priority = priority
        self.delayMilliseconds = delayMilliseconds
        self.envelope = envelope
    }
}

package enum EditOutcome: Sendable, Equatable {
    case done
    /// The operation has changed since it was read.
    case outdated
    /// The operation's state forbids the change.
    case refused(OperationState)
    case unknown
}

/// The progress of purging a queue.
package struct PurgeProgress: Sendable, Equatable {
    /// The number of operations removed so far.
    package var removed: Int
    /// The highest sequence number to remove.
    package var sequence: Int64
    /// Where the next call continues; 0 = done.
    package var place: Int
    package var passed: Int

    package init(removed: Int, sequence: Int64, place: Int, passed: Int) {
        self.removed = removed
        self.sequence = sequence
        self.place = place
        self.passed = passed
    }

    package var isDone: Bool { place == 0 }
}
