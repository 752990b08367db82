/// Reads changes of many operations.
package protocol ChangeReading: Sendable {
    /// Reads the changes, newest first.
    ///
    /// - Parameter id: the change to read; nil = all.
    func changes(_ id: OperationID?) async throws -> StoredChanges
}

/// Stores changes of many operations, which are performed in steps by one program at a time.
///
/// The program that performs a change has a lease. When the lease ends, another program goes on. Each taking raises the
/// fence, and a write with an older fence is refused.
package protocol ChangeStoring: ChangeReading {
    /// Stores a change. Old changes that have ended are removed, so that ``StoredChange/kept`` stay.
    ///
    /// - Parameters:
    ///   - definition: the change; never written again.
    ///   - progress: the beginning.
    func addChange(_ id: OperationID, definition: [UInt8], progress: [UInt8]) async throws -> ChangeAdding

    /// Reads the oldest change that has not ended and has no lease. Nothing is changed.
    ///
    /// - Parameter left: changes to leave alone.
    /// - Returns: nil = no change is left to take.
    func nextChange(leaving left: Set<OperationID>) async throws -> StoredChange?

    /// Takes a change, if it has not ended, has no lease, and still has the fence that was read.
    ///
    /// - Returns: the change with its new fence; nil = another program was faster.
    func takeChange(_ id: OperationID, fence: Int64, leaseMilliseconds: Int64) async throws -> StoredChange?

    /// Stores progress and extends the lease.
    ///
    /// - Parameters:
    ///   - fence: the fence of the taking.
    ///   - isEnd: whether the change has ended.
    func saveChange(
        _ id: OperationID,
        fence: Int64,
        progress: [UInt8],
        isEnd: Bool,
        leaseMilliseconds: Int64
    ) async throws -> ChangeSaving

    /// Asks for the stop of a change.
    ///
    /// - Returns: false if the change has ended or is unknown.
    func stopChange(_ id: OperationID, by: String) async throws -> Bool

    /// Removes a change, whatever its state. A program that performs it stops with its next step.
    ///
    /// - Returns: false if the change is unknown.
    func removeChange(_ id: OperationID) async throws -> Bool
}

extension ChangeStoring {
    /// Takes the oldest change that has not ended and has no lease.
    package func takeChange(leaseMilliseconds: Int64) async throws -> StoredChange? {
        guard let next = try await nextChange(leaving: []) else { return nil }
        return try await takeChange(next.id, fence: next.fence, leaseMilliseconds: leaseMilliseconds)
    }
}

/// The answer to a new change.
package enum ChangeAdding: Int, Sendable {
    /// ``StoredChange/openLimit`` changes have not ended.
    case full = 0
    case stored = 1
    /// A change with this id was stored before.
    case known = 2
}

/// A stored change of many operations.
package struct StoredChange: Sendable, Equatable {
    /// The most changes that have not ended.
    package static let openLimit = 20
    /// The most changes that are stored.
    package static let kept = 50

    package var id: OperationID
    package var isEnded: Bool
    /// Whether its state can be read. No program takes a change that it cannot read.
    package var isReadable = true
    /// The number of takings.
    package var fence: Int64
    /// The end of the lease, in milliseconds since 1970; 0 = none was taken.
    package var leaseEndsAt: Int64
    package var createdAt: Int64
    /// The person who asked for a stop; nil = no one has.
    package var stopper: String?
    package var definition: [UInt8]
    package var progress: [UInt8]

    package init(
        id: OperationID,
        isEnded: Bool = false,
        fence: Int64 = 0,
        leaseEndsAt: Int64 = 0,
        createdAt: Int64,
        stopper: String? = nil,
        definition: [UInt8],
        progress: [UInt8]
    ) {
        (self.id, self.isEnded, self.fence, self.leaseEndsAt) = (id, isEnded, fence, leaseEndsAt)
        (self.createdAt, self.stopper, self.definition, self.progress) = (createdAt, stopper, definition, progress)
    }
}

/// Stored changes, with the time of the server at which they were read.
package struct StoredChanges: Sendable, Equatable {
    package var time: Int64
    package var changes: [StoredChange]

    package init(time: Int64, changes: [StoredChange]) { (self.time, self.changes) = (time, changes) }
}

/// The answer to a save of progress.
package enum ChangeSaving: Int, Sendable {
    /// The change has ended, or another program performs it.
    case lost = 0
    case stored = 1
    /// Stored; a person asked for a stop.
    case stopAsked = 2
}
