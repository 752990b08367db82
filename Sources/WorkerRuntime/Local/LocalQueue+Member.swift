import Operations

extension LocalQueue {
    /// One queue of the worker.
    struct Member: Sendable {
        /// How the worker waits for a wake-up token of the queue.
        enum Wait: Sendable {
            case none
            case listening
            /// A claim goes along, or was not answered yet.
            case claiming
        }

        let share: QueueShare
        /// Wakes the queue's loop.
        let signal = Signal()
        /// What this worker owns in the queue.
        var lease = Lease()
        /// What is to be settled.
        var outbox = Outbox()
        /// Which calls are under way.
        var calls = Calls()
        /// What is known of operations in Redis.
        var supply = Supply()
        /// Names that this worker knows, of which there are unhandled operations.
        var unhandled = UnhandledNames()
        /// How many operations may wait here for a slot, by the queue's limits; nil = it has none.
        var mostAhead: Int?
        /// Claimed, not started.
        var waiting = Fifo<HeldOperation>()
        /// Fences of ended operations that keep their slots until their reports have arrived.
        var reporting: Set<Int64> = []
        /// How long operations take.
        var pace = Pace()
        var wait = Wait.none
        /// What operators have set for the worker, as the last heartbeat of this queue brought it.
        var settings = WorkerSettings()
        /// The last claim that waited for a wake-up token was refused, because this worker was not idle any more.
        var wasBusy = false

        init(_ share: QueueShare) { self.share = share }

        /// What the queue does now. Asked at every end, where a call would copy the member.
        ///
        /// - Parameter worker: what the whole worker does.
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

        /// True if the queue ends a burst: nothing is here, and nothing is expected.
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
