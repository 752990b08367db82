/// A change of an operation that waits.
package struct OperationEdit: Sendable, Equatable {
    /// As it was read. The change is refused if its header or, where that is to change, its envelope is another one by now.
    package var record: OperationRecord
    /// nil = as it was.
    package var priority: OperationPriority?
    /// The time for which it waits, from now on; nil = as it was.
    package var delayMilliseconds: Int64?
    /// nil = as it was.
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
    /// It has changed since it was read.
    case outdated
    /// The state forbids it.
    case refused(OperationState)
    case unknown
}

/// How far a queue is purged.
package struct PurgeProgress: Sendable, Equatable {
    /// Operations that were removed so far.
    package var removed: Int
    /// The highest number of an operation that is removed.
    package var sequence: Int64
    /// Where the next call goes on; 0 = it is done.
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
