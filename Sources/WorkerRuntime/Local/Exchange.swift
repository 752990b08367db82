import Operations

extension LocalQueue {
    /// The next step of a queue's loop.
    enum Step {
        /// Wait until something changes.
        case wait
        /// Ask Redis what this worker owns.
        case reconcile(known: [Int64], epoch: Int)
        case exchange(Exchange)
    }

    /// One call of a queue's loop: the ends that it reports, and its claim.
    struct Exchange {
        var ended: [Ended]
        var epoch: Int
        /// Grows with each exchange.
        var number = 0
        /// The number of slots that the call claims for.
        var slots = 0
        /// The number of operations that the call claims beyond these slots.
        var ahead = 0
        /// The number of wake-up tokens that were taken before the call was sent.
        var wakes = 0
        var highestFence: Int64 = 0
        var unhandled = UnhandledNames.Asked()
        /// True if the exchange measures the round trip, and runs alone.
        var isProbe = false

        /// The number of operations to claim; 0 = none.
        var capacity: Int { slots + ahead }

        var isRepeat: Bool { ended.first?.isRepeat ?? false }

        /// True if the exchange is so large that operations that end meanwhile may fill another one.
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
