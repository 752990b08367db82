import Operations

extension LocalQueue {
    /// One queue of the worker.
    struct Member: Sendable {
        /// How the worker waits for a wake-up token of the queue.
        enum Wait: Sendable {
            case none
            case listening
            /// A claim is sent with the wait, or was not answered yet.
            case claiming
        }

        let share: QueueShare
        /// Wakes the queue's loop.
        let signal = Signal()
        /// The operations that this worker owns in the queue.
        var lease = Lease()
        /// Ends that have to be reported.
        var outbox = Outbox()
        /// The calls in flight.
        var calls = Calls()
        /// The knowledge about operations in Redis.
        var supply = Supply()
        /// Names that this worker can run and that have unhandled operations.
        var unhandled = UnhandledNames()
        /// How many operations may wait here for a slot, by the queue's limits; nil = the queue has none.
        var mostAhead: Int?
        /// Operations that are claimed and not started.
        var waiting = Fifo<HeldOperation>()
        /// Fences of ended operations that keep their slots until their reports have arrived.
        var reporting: Set<Int64> = []
        /// How long operations take.
        var pace = Pace()
        var wait = Wait.none
        /// The settings that operators have made for the worker, from the last heartbeat of this queue.
        var settings = WorkerSettings()
        /// True if the last claim that waited for a wake-up token was refused because this worker was no longer idle.
        var wasBusy = false

        init(_ share: QueueShare) { self.share = share }

        /// The phase of the queue. Every end reads it, and a call would copy the member.
        ///
        /// - Parameter worker: the phase of the whole worker.
        @inline(__always)
        func phase(in worker: LocalQueue.Phase, _ now: Instant) -> QueuePhase {
            guard lease.isValid(now) else { return .unleased }
            switch lease.standing {
            case .lapsed: return .lapsed
            case .unsure: return .unsure
            case .agreed: break
            }
            if outbox.isRepeat { return .repeating }
            guard worker == .running else { return .draining }
            switch supply.state {
            case .ready: return .claiming
            case .quiet, .limited: return .quiet
            case .paused: return .paused
            }
        }

        /// True if there is something to send. It changes nothing, but is `mutating`: every end asks, and a method that
        /// is not would be called on a copy of the member.
        mutating func hasCall(in worker: LocalQueue.Phase, reserved: Int, _ now: Instant) -> Bool {
            switch phase(in: worker, now) {
            case .unleased: return false
            case .lapsed, .unsure, .repeating: return calls.isIdle
            case .draining, .claiming, .quiet, .paused:
                if calls.isIdle { return !outbox.isEmpty || reserved > 0 }
                return calls.allowFurther && (reserved >= Calls.leastInFurther || outbox.fillsFurtherCall)
            }
        }

        /// True if the queue ends a burst: nothing is held here, and nothing is expected.
        func isExhausted(_ burst: WorkerConfiguration.Burst, _ now: Instant) -> Bool {
            guard lease.held.isEmpty, lease.until != nil, calls.isIdle else { return false }
            switch supply.state {
            case .ready, .limited: return false
            case .paused: return true
            case .quiet: return supply.nextDue.map { burst == .ready && $0 > now + .seconds(1) } ?? true
            }
        }
    }
}
