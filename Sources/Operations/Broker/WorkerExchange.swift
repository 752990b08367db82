/// What goes between a worker and the broker.

/// One process incarnation of a worker. Random, so that a restarted container is never taken for its predecessor.
public struct WorkerID: Hashable, Sendable, CustomStringConvertible {
    public let description: String
    /// A new one, unlike any other.
    public init() { description = OperationID().description }
    package init(_ text: String) { description = text }
}

package struct ClaimRequest: Sendable, Equatable {
    package var worker: WorkerID
    /// The worker's connection epoch: it grows whenever the outcome of a claim is unknown, so that a late one takes nothing.
    package var epoch: Int
    /// The maximum number of operations to claim, 1 to `Defaults.batch`. One claim returns at most `Defaults.trackedBatch` tracked ones.
    package var capacity: Int
    /// Sent with a wait for the queue's wake-up token: refused as `busy` where the worker holds something of the queue; and if it takes nothing,
    /// the worker does not become the one that watches for what is due.
    package var onlyIfIdle: Bool
    /// The highest fence that the worker was ever given in this queue, and so a lower bound of those it is given now: where Redis has lost
    /// its last writes, its counter is behind, and what it handed out anew would be taken for what the worker holds.
    package var highestFence: Int64
    /// Names of unhandled operations that the worker knows, at most `Defaults.unhandledNamesClaimed`: the first of these come back to the
    /// heads of their lanes before anything is taken.
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

/// One hand-out: this worker owns the operation as long as the fence is in its in-flight hash.
package struct ClaimedOperation: Sendable, Equatable {
    package var fence: Int64
    package var header: OperationHeader
    package var envelope: [UInt8]
    /// Why the header cannot be read, and then only its id and flags count; nil = it can.
    package var fault: String?
    /// The revision of the standing cancels that it must be compared with before it begins; 0 = there are none.
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

    /// Reads an element. One that is not as it should be does not keep others of the same reply from being run.
    ///
    /// - Parameter headByteCount: bytes before the envelope, if there are more than those of the header.
    /// - Returns: nil if not even an id can be found in it.
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
        /// A limit of the queue lets no more start now: more is ready when a running one has ended, or at the next instant.
        case limited
        case paused
        /// The worker has no valid lease; a heartbeat gives it one.
        case noLease
        /// A newer epoch of this worker is known.
        case staleEpoch
        /// The worker holds something, and the claim was for an idle one.
        case busy
    }

    package var status: Status
    package var operations: [ClaimedOperation]
    /// More is ready than was taken.
    package var more: Bool
    /// More operations of the names that the request has given are unhandled.
    package var unhandledLeft: Bool
    /// Milliseconds until the next scheduled or retrying operation is due, as this worker should time it; nil = none.
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

/// How a wait for a queue's wake-up token, with a claim behind it, ended.
package struct WakeUpAnswer: Sendable, Equatable {
    /// The token was taken.
    package var wasWoken: Bool
    /// What came of the claim; nil = it was not made.
    package var claim: Claim?

    package init(wasWoken: Bool = false, claim: Claim? = nil) {
        self.wasWoken = wasWoken
        self.claim = claim
    }
}

/// An operation that ended well.
package struct Completion: Sendable, Equatable {
    package var fence: Int64
    package var id: OperationID
    package var tracked: Bool
    /// JSON; kept for tracked operations only. Empty = none.
    package var result: [UInt8]

    package init(fence: Int64, id: OperationID, tracked: Bool, result: [UInt8] = []) {
        self.fence = fence
        self.id = id
        self.tracked = tracked
        self.result = result
    }
}

/// What a write under a fence did.
package enum SettleOutcome: Sendable, Equatable {
    /// Done; the operation now is in this state.
    case done(OperationState)
    /// The same write was done before: its first answer was lost.
    case already
    /// The fence is no longer valid; nothing was changed.
    case stale
}

/// A run that did not finish.
package struct Failure: Sendable, Equatable {
    package enum Disposition: Sendable, Equatable {
        /// Try again after this many milliseconds, unless its cancel was requested meanwhile.
        case retry(afterMilliseconds: Int64)
        case dead
        case cancelled
        /// It matches a standing cancel, so its body did not begin: cancelled, with the request of that one.
        case caught(standing: Int64, Cancellation)
        /// The body has asked to be run again after this many milliseconds: scheduled, and no attempt is used.
        case snoozed(milliseconds: Int64, reason: String)
        /// The body has left its slot to others: the tail of its lane, and no attempt is used.
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

/// An operation that goes back without having been tried. Neither attempt nor delivery changes.
package struct Return: Sendable, Equatable {
    package enum Place: Sendable, Equatable {
        /// The head of its lane: a drain, or prefetch that was not needed.
        case front
        /// Scheduled.
        case later(milliseconds: Int64)
        /// Set aside until a worker that knows the name claims it, and its start is not counted; scheduled where the queue has operations of
        /// `Defaults.unhandledNames` other unknown names.
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

/// What a running operation writes about itself.
package struct Report: Sendable, Equatable {
    package enum Content: Sendable, Equatable {
        case progress(fraction: Double, message: String)
        /// One line, at most `Defaults.logLineBytes`.
        case log(line: [UInt8])
        case checkpoint([UInt8])
        /// The operation has seen that its cancel is requested.
        case cancelAcknowledged
        /// The body of an operation that a forced cancel has ended does not run any more.
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

/// The result of an effect that a tracked operation has once.
package struct EffectResult: Sendable, Equatable {
    package var fence: Int64
    package var id: OperationID
    package var label: String
    /// JSON.
    package var result: [UInt8]

    package init(fence: Int64, id: OperationID, label: String, result: [UInt8]) {
        self.fence = fence
        self.id = id
        self.label = label
        self.result = result
    }
}

/// What earlier runs of an operation have stored for later ones.
package struct StoredByRuns: Sendable, Equatable {
    package var checkpoint: [UInt8]?
    /// Results of `once`, by label.
    package var once: [String: [UInt8]] = [:]

    package init() {}
}

/// A worker's proof of life for one queue.
package struct Beat: Sendable, Equatable {
    package var worker: WorkerID
    package var epoch: Int
    package var leaseMilliseconds: Int64
    package var intervalMilliseconds: Int64
    /// Encoded `WorkerInfo`: opaque to Redis.
    package var info: [UInt8]
    /// The `newestUnhandled` of the last reply that the worker has read.
    package var unhandledSeen: Int64
    /// What it has counted since; nil = nothing.
    package var figures: FiguresDelta?

    package init(
        worker: WorkerID,
        epoch: Int,
        leaseMilliseconds: Int64,
        intervalMilliseconds: Int64,
        info: [UInt8],
        unhandledSeen: Int64 = 0,
        figures: FiguresDelta? = nil
    ) {
        self.figures = figures
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
    /// Something could be started now.
    package var startable: Bool
    /// Another worker's lease has lapsed, or a cancelled batch is to be cleared away: a sweep is due.
    package var sweepDue: Bool
    /// Fences of this worker whose cancel is requested.
    package var cancels: [CancelOrder]
    /// Everything handed out up to this fence is cancelled.
    package var cancelledThroughFence: Int64
    /// The request that has cancelled it; nil without one.
    package var queueCancel: Cancellation?
    /// Grows with each name of which the queue gets its first unhandled operation.
    package var newestUnhandled: Int64
    /// The names of all unhandled operations, if one is new to the worker.
    package var unhandled: [String]
    /// What operators have set for this worker.
    package var settings: WorkerSettings
    /// Milliseconds of server time.
    package var time: Int64
    /// What the queue's limits leave; nil = it has none.
    package var room: Room?
    /// Milliseconds until this worker should look for schedules that are due; nil = it need not.
    package var scheduleMilliseconds: Int64?

    package init(
        inFlight: Int,
        startable: Bool,
        sweepDue: Bool,
        cancels: [CancelOrder],
        cancelledThroughFence: Int64,
        queueCancel: Cancellation? = nil,
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

/// What the limits of a queue leave.
package struct Room: Sendable, Equatable {
    /// How many more of its operations may start.
    package var left: Int
    /// How many a worker may hold that have no slot yet; nil = as many as usual.
    package var ahead: Int?

    package init(left: Int, ahead: Int? = nil) {
        self.left = left
        self.ahead = ahead
    }
}

/// The stored cancel request of one operation that a worker holds.
package struct CancelOrder: Sendable, Equatable {
    package var fence: Int64
    package var cancellation: Cancellation
    /// Of a forced cancel: the operation, which has ended already.
    package var forced: OperationID?

    package init(fence: Int64, _ cancellation: Cancellation, forced: OperationID? = nil) {
        self.fence = fence
        self.cancellation = cancellation
        self.forced = forced
    }
}

package struct Reconciliation: Sendable, Equatable {
    /// Handed out to this worker, but unknown to it: a claim's reply was lost.
    package var found: [ClaimedOperation]
    /// Known to the worker, but no longer its own.
    package var lost: [Int64]
    /// There are more to find: reconcile again.
    package var more: Bool

    package init(found: [ClaimedOperation], lost: [Int64], more: Bool) {
        self.found = found
        self.lost = lost
        self.more = more
    }
}

package struct SweepReply: Sendable, Equatable {
    /// Operations handed back to their lanes.
    package var recovered: Int
    /// Operations that met `Defaults.maxDeliveries`.
    package var dead: Int
    /// Waiting operations of a cancelled queue that were cleared away.
    package var cleared: Int
    /// More is left to sweep now.
    package var more: Bool

    package init(recovered: Int = 0, dead: Int = 0, cleared: Int = 0, more: Bool = false) {
        self.recovered = recovered
        self.dead = dead
        self.cleared = cleared
        self.more = more
    }
}

/// What is stored about cancels of what a worker holds.
package struct RequestedCancels: Sendable, Equatable {
    /// The operations whose cancel is requested.
    package var cancels: [CancelOrder]
    /// Everything handed out up to this fence is cancelled.
    package var throughFence: Int64
    /// The request that has cancelled it; nil without one.
    package var queueCancel: Cancellation?

    package init(cancels: [CancelOrder], throughFence: Int64, queueCancel: Cancellation? = nil) {
        self.cancels = cancels
        self.throughFence = throughFence
        self.queueCancel = queueCancel
    }
}

/// A message to a worker. It only says when to look: the worker reads what is stored before it ends anything, and the next
/// heartbeat's reply says the same.
package enum ControlMessage: Sendable, Equatable {
    /// Look whether the cancel of this fence is requested.
    case cancel(queue: String, fence: Int64)
    /// Look up to which fence everything is cancelled.
    case cancelThrough(queue: String)
    /// Operations of this name are unhandled: a worker that knows it claims them.
    case unhandled(queue: String, name: String)
    /// An operator has set something for this worker: beat now.
    case steered
    /// A schedule has an earlier instant than before, or the worker that watches for it has left: beat now.
    case schedules
    /// Not all dependents have heard of how something ended: a sweep is due.
    case outbox(queue: String)
    /// The subscription is new; messages may have been missed: beat now.
    case resubscribed
    /// The server refuses at least one of the subscriptions: until `accepted`, a cancel may be noticed by a heartbeat only.
    case refused(OperationsError)
    /// The server refuses none of them any longer.
    case accepted
}
