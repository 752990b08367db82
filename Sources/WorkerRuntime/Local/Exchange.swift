import Operations

extension LocalQueue {
    /// What a queue's loop does next.
    enum Step {
        /// Nothing to do until something changes.
        case wait
        /// Ask Redis what this worker owns.
        case reconcile(known: [Int64], epoch: Int)
        case exchange(Exchange)
    }

    /// One call of a queue's loop: what has ended, and what is claimed with it.
    struct Exchange {
        var ended: [Ended]
        var epoch: Int
        /// Grows with each exchange.
        var number = 0
        /// Slots that it claims for.
        var slots = 0
        /// Operations that it asks for beyond these.
        var ahead = 0
        /// How many wake-up tokens had been taken when it was sent.
        var wakes = 0
        var highestFence: Int64 = 0
        var unhandled = UnhandledNames.Asked()
        /// It measures the round trip, and goes alone.
        var isProbe = false

        /// Operations to claim; 0 = none.
        var capacity: Int { slots + ahead }

        var isRepeat: Bool { ended.first?.isRepeat ?? false }

        /// So much is in it that what ends meanwhile may fill another one.
        var isLarge: Bool {
            capacity >= Calls.leastTrackedInFurther || ended.count >= Calls.leastTrackedInFurther
        }

        func request(by worker: WorkerID) -> ClaimRequest {
            ClaimRequest(
                worker: worker,
                epoch: epoch,
                capacity: capacity,
                highestFence: highestFence,
                unhandled: unhandled.names
            )
        }
    }
}
