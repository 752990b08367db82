/// The values that a worker and the broker exchange.

/// The id of one process incarnation of a worker. Random, so that a restarted container is never mistaken for its
/// predecessor.
public struct WorkerID: Hashable, Sendable, CustomStringConvertible {
    public let description: String
    /// Makes a new unique id.
    public init() { description = OperationID().description }
    package init(_ text: String) { description = text }
}

package struct ClaimRequest: Sendable, Equatable {
    package var worker: WorkerID
    /// The worker's connection epoch. The epoch grows whenever the outcome of a claim is unknown, so that a late claim
    /// takes nothing.
    package var epoch: Int
    /// The most operations to claim, 1 to `SluiceDefaults.batch`. One claim returns at most
    /// `SluiceDefaults.trackedBatch` tracked ones.
    package var capacity: Int
    /// Whether the claim comes with a wait for the queue's wake-up token. Such a claim is refused as `busy` if the
    /// worker holds operations of the queue. A worker that takes nothing then leaves the timer to its current owner.
    package var onlyIfIdle: Bool
    /// The highest fence that this worker ever got in this queue. New fences are higher: after Redis has lost its last
    /// writes, its counter could repeat a fence that the worker already holds.
    package var highestFence: Int64
    /// Names of unhandled operations that the worker knows, at most `SluiceDefaults.unhandledNamesClaimed`. The first
    /// operations of these names return to the heads of their lanes before the claim.
    package var unhandled: [String]

    package init(
        worker: WorkerID,
        epoch: Int,
        capacity: Int,
        onlyIfIdle: Bool = false,
        highestFence: Int64 = 0,
        unhandled: [String] = []
    ) {
        self.worker = worker
        self.epoch = epoch
        self.capacity = capacity
        self.onlyIfIdle = onlyIfIdle
        self.highestFence = highestFence
        self.unhandled = unhandled
    }
}

/// A claimed operation. The worker owns it as long as the fence is in its in-flight hash.
package struct ClaimedOperation: Sendable, Equatable {
    package var fence: Int64
    package var header: OperationHeader
    package var envelope: [UInt8]
    /// Why the header cannot be read; nil = it can. With a fault, only the id and the flags of the header are valid.
    package var fault: String?
    /// The revision of the standing cancels to compare with before the body begins; 0 = no standing cancels.
    package var standing: Int64

    package init(
        fence: Int64,
        header: OperationHeader,
        envelope: [UInt8],
        fault: String? = nil,
        standing: Int64 = 0
    ) {
        self.standing = standing
        self.fence = fence
        self.header = header
        self.envelope = envelope
        self.fault = fault
    }

    /// Reads an element. A damaged one does not keep others of the reply from running.
    ///
    /// - Parameter headByteCount: the number of bytes before the envelope; nil = those of the header.
    /// - Returns: nil if the element has no readable id.
    package init?(fence: Int64, element: [UInt8], headByteCount: Int? = nil, standing: Int64 = 0) {
        guard let (header, fault) = OperationHeader.salvage(element) else { return nil }
        self.init(
            fence: fence,
            header: header,
            envelope: Array(element.dropFirst(headByteCount ?? OperationHeader.byteCount)),
            fault: fault,
            standing: standing
        )
    }

    package var id: OperationID { header.id }
    package var attempt: Int { header.failedAttempts + 1 }
}

package struct Claim: Sendable, Equatable {
    package enum Status: String, Sendable {
        case ok
        /// A limit of the queue allows no start now. Operations can start again when a running one ends, or at the next
        /// instant.
        case limited
        case paused
        /// The worker has no valid lease; a heartbeat creates or renews it.
        case noLease
        /// The broker knows a newer epoch of this worker.
        case staleEpoch
        /// The worker holds operations, and the claim was for an idle worker.
        case busy
    }

    package var status: Status
    package var operations: [ClaimedOperation]
    /// Whether more operations are ready than were taken.
    package var more: Bool
    /// Whether more unhandled operations have a name from the request.
    package var unhandledLeft: Bool
    /// Milliseconds after which this worker should claim again, because something is due or a pause ends; nil = it need
    /// not.
    package var nextDueMilliseconds: Int64?

    package init(
        status: Status,
        operations: [ClaimedOperation] = [],
        more: Bool = false,
        unhandledLeft: Bool = false,
        nextDueMilliseconds: Int64? = nil
    ) {
        self.status = status
        self.operations = operations
        self.more = more
        self.unhandledLeft = unhandledLeft
        self.nextDueMilliseconds = nextDueMilliseconds
    }
}

/// The outcome of a wait for a queue's wake-up token that ends with a claim.
package struct WakeUpAnswer: Sendable, Equatable {
    /// Whether the token was taken.
    package var wasWoken: Bool
    /// The claim; nil = no claim was made.
    package var claim: Claim?

    package init(wasWoken: Bool = false, claim: Claim? = nil) {
        self.wasWoken = wasWoken
        self.claim = claim
    }
}

/// A run that finished.
package struct Completion: Sendable, Equatable {
    package var fence: Int64
    package var id: OperationID
    package var tracked: Bool
    /// The result as JSON, stored for tracked operations only; empty = no result.
    package var result: [UInt8]

    package init(fence: Int64, id: OperationID, tracked: Bool, result: [UInt8] = []) {
        self.fence = fence
        self.id = id
        self.tracked = tracked
        self.result = result
    }
}

/// The outcome of a write under a fence.
package enum SettleOutcome: Sendable, Equatable {
    /// Done; the operation is now in this state.
    case done(OperationState)
    /// The same write was done before, and its first answer was lost.
    case already
    /// The fence is no longer valid; nothing was changed.
    case stale
}

/// A run that did not finish.
package struct Failure: Sendable, Equatable {
    package enum Disposition: Sendable, Equatable {
        /// Retry after this many milliseconds, unless a cancel was requested meanwhile.
        case retry(afterMilliseconds: Int64)
        case dead
        case cancelled
        /// The operation matches a standing cancel, so its body did not begin. The operation ends as cancelled, with
        /// that cancel's request.
        case cancelledByStanding(standing: Int64, OperationCancellation)
        /// The body asked to run again after this many milliseconds. The operation is scheduled, and no attempt is
        /// used.
        case snoozed(milliseconds: Int64, reason: String)
        /// The body left its slot to others. The operation goes to the tail of its lane, and no attempt is used.
        case yielded
    }

    package var fence: Int64
    package var id: OperationID
    package var disposition: Disposition
    /// An encoded `OperationFailure`, or empty for a cancel without an error.
    package var error: [UInt8]

    package init(fence: Int64, id: OperationID, disposition: Disposition, error: [UInt8]) {
        self.fence = fence
        self.id = id
        self.disposition = disposition
        self.error = error
    }
}

/// An operation that is given back without having been tried. Neither attempt nor delivery changes.
package struct Return: Sendable, Equatable {
    package enum Place: Sendable, Equatable {
        /// The head of its lane: for a drain, or for a prefetch that was not needed.
        case front
        /// Scheduled after this many milliseconds.
        case later(milliseconds: Int64)
        /// Set aside until a worker that knows the name claims it; its start is not counted. Scheduled instead if the
        /// queue already has unhandled operations of `SluiceDefaults.unhandledNames` other names.
        case unhandled(name: String, orLaterMilliseconds: Int64)
    }

    package var fence: Int64
    package var id: OperationID
    package var place: Place

    package init(fence: Int64, id: OperationID, place: Place = .front) {
        self.fence = fence
        self.id = id
        self.place = place
    }
}

/// A report of a running operation about itself.
package struct Report: Sendable, Equatable {
    package enum Content: Sendable, Equatable {
        case progress(fraction: Double, message: String)
        /// A line of at most `SluiceDefaults.logLineBytes`.
        case log(line: [UInt8])
        case checkpoint([UInt8])
        /// The operation has noticed its cancel request.
        case cancelAcknowledged
        /// The body of an operation that a forced cancel ended no longer runs.
        case cancelStopped
    }

    package var fence: Int64
    package var id: OperationID
    package var content: Content

    package init(fence: Int64, id: OperationID, content: Content) {
        self.fence = fence
        self.id = id
        self.content = content
    }
}

/// The result of an effect that a tracked operation runs once.
package struct EffectResult: Sendable, Equatable {
    package var fence: Int64
    package var id: OperationID
    package var label: String
    /// The result as JSON.
    package var result: [UInt8]

    package init(fence: Int64, id: OperationID, label: String, result: [UInt8]) {
        self.fence = fence
        self.id = id
        self.label = label
        self.result = result
    }
}

/// The values that earlier runs of an operation stored for later ones.
package struct StoredByRuns: Sendable, Equatable {
    package var checkpoint: [UInt8]?
    /// Results of `once`, by label.
    package var once: [String: [UInt8]] = [:]

    package init() {}
}

/// A worker's heartbeat for one queue.
package struct Beat: Sendable, Equatable {
    package var worker: WorkerID
    package var epoch: Int
    package var leaseMilliseconds: Int64
    package var intervalMilliseconds: Int64
    /// Encoded `WorkerInfo`, which Redis does not read.
    package var info: [UInt8]
    /// The `newestUnhandled` of the last reply that the worker read.
    package var unhandledSeen: Int64
    /// The statistics since the last delta; nil = none.
    package var statistics: StatisticsDelta?
    /// The build of the app; nil = none. Counts in the worker's first heartbeat for the queue.
    package var build: String?

    package init(
        worker: WorkerID,
        epoch: Int,
        leaseMilliseconds: Int64,
        intervalMilliseconds: Int64,
        info: [UInt8],
        unhandledSeen: Int64 = 0,
        statistics: StatisticsDelta? = nil,
        build: String? = nil
    ) {
        self.build = build
        self.statistics = statistics
        self.unhandledSeen = unhandledSeen
        self.worker = worker
        self.epoch = epoch
        self.leaseMilliseconds = leaseMilliseconds
        self.intervalMilliseconds = intervalMilliseconds
        self.info = info
    }
}

package struct BeatReply: Sendable, Equatable {
    /// Operations in this worker's in-flight hash.
    package var inFlight: Int
    /// Whether an operation could start now.
    package var startable: Bool
    /// Whether a sweep is due: another lease has lapsed, a cancelled batch must be cleared away, operations have
    /// expired, or ends must be relayed.
    package var sweepDue: Bool
    /// The cancel requests for operations of this worker.
    package var cancels: [FencedCancel]
    /// Every claim up to this fence is cancelled.
    package var cancelledThroughFence: Int64
    /// The last cancel of the whole queue; nil = none.
    package var queueCancel: OperationCancellation?
    /// A number that grows with each name that gets its first unhandled operation in the queue.
    package var newestUnhandled: Int64
    /// The names of all unhandled operations, if one of them is new to the worker.
    package var unhandled: [String]
    /// The settings that operators made for this worker.
    package var settings: WorkerSettings
    /// Milliseconds of server time.
    package var time: Int64
    /// The room that the queue's limits leave; nil = the queue has no limits.
    package var room: Room?
    /// Milliseconds until this worker should look for due schedules; nil = it need not.
    package var scheduleMilliseconds: Int64?

    package init(
        inFlight: Int,
        startable: Bool,
        sweepDue: Bool,
        cancels: [FencedCancel],
        cancelledThroughFence: Int64,
        queueCancel: OperationCancellation? = nil,
        newestUnhandled: Int64 = 0,
        unhandled: [String] = [],
        settings: WorkerSettings = WorkerSettings(),
        time: Int64 = 0,
        room: Room? = nil,
        scheduleMilliseconds: Int64? = nil
    ) {
        self.scheduleMilliseconds = scheduleMilliseconds
        self.room = room
        self.time = time
        self.settings = settings
        self.newestUnhandled = newestUnhandled
        self.unhandled = unhandled
        self.inFlight = inFlight
        self.startable = startable
        self.sweepDue = sweepDue
        self.cancels = cancels
        self.cancelledThroughFence = cancelledThroughFence
        self.queueCancel = queueCancel
    }
}

/// The room that the limits of a queue leave.
package struct Room: Sendable, Equatable {
    /// How many more operations of the queue may start.
    package var left: Int
    /// How many operations without a slot a worker may hold; nil = as many as usual.
    package var ahead: Int?

    package init(left: Int, ahead: Int? = nil) {
        self.left = left
        self.ahead = ahead
    }
}

/// The stored cancel request of one operation that a worker holds.
package struct FencedCancel: Sendable, Equatable {
    package var fence: Int64
    package var cancellation: OperationCancellation
    /// The operation that a forced cancel has already ended; nil = the cancel was not forced.
    package var forced: OperationID?

    package init(fence: Int64, _ cancellation: OperationCancellation, forced: OperationID? = nil) {
        self.fence = fence
        self.cancellation = cancellation
        self.forced = forced
    }
}

package struct Reconciliation: Sendable, Equatable {
    /// Operations that this worker claimed without knowing it, because the reply was lost.
    package var found: [ClaimedOperation]
    /// Fences that the worker knows, but no longer owns.
    package var lost: [Int64]
    /// Whether more can be found: reconcile again.
    package var more: Bool

    package init(found: [ClaimedOperation], lost: [Int64], more: Bool) {
        self.found = found
        self.lost = lost
        self.more = more
    }
}

package struct SweepReply: Sendable, Equatable {
    /// Operations that were recovered into their lanes.
    package var recovered: Int
    /// Operations that are dead because they reached `SluiceDefaults.maxDeliveries`.
    package var dead: Int
    /// Waiting operations of a cancelled queue that were cleared away.
    package var cleared: Int
    /// Whether more is left to sweep now.
    package var more: Bool

    package init(recovered: Int = 0, dead: Int = 0, cleared: Int = 0, more: Bool = false) {
        self.recovered = recovered
        self.dead = dead
        self.cleared = cleared
        self.more = more
    }
}

/// The stored cancel requests for the operations of a worker.
package struct RequestedCancels: Sendable, Equatable {
    /// The requests for single operations.
    package var cancels: [FencedCancel]
    /// Every claim up to this fence is cancelled.
    package var throughFence: Int64
    /// The last cancel of the whole queue; nil = none.
    package var queueCancel: OperationCancellation?

    package init(cancels: [FencedCancel], throughFence: Int64, queueCancel: OperationCancellation? = nil) {
        self.cancels = cancels
        self.throughFence = throughFence
        self.queueCancel = queueCancel
    }
}

/// A message to a worker. A message is a hint: the worker reads the stored state before it ends anything, and the reply
/// to the next heartbeat has that state too.
package enum ControlMessage: Sendable, Equatable {
    /// Read whether a cancel of this fence is requested.
    case cancel(queue: String, fence: Int64)
    /// Read up to which fence every claim is cancelled.
    case cancelThrough(queue: String)
    /// Operations of this name are unhandled: a worker that knows the name claims them.
    case unhandled(queue: String, name: String)
    /// An operator has made a setting for this worker: send a heartbeat now.
    case controlled
    /// A schedule has an earlier instant than before, or the worker that watched the schedules has left: send a
    /// heartbeat now.
    case schedules
    /// Some dependents are not yet notified of an end: a sweep is due.
    case outbox(queue: String)
    /// The subscription is new, and messages may have been missed: send a heartbeat now.
    case resubscribed
    /// The server refuses at least one subscription. Until `accepted`, a cancel may be noticed only by a heartbeat.
    case refused(OperationsError)
    /// The server no longer refuses any subscription.
    case accepted
}
