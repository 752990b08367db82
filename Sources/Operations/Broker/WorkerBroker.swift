/// The calls of a worker, which claims and settles operations, renews its lease, and is notified of cancels.
package protocol WorkerBroker: StandingCancelReading, RelayingBroker {
    // MARK: Claims and ends

    /// Claims up to `capacity` operations in the order of their effective priority.
    func claim(_ request: ClaimRequest, queue: String) async throws -> Claim

    /// Ends operations well and claims again in the same step. A repeated call does not claim.
    func complete(
        _ completions: [Completion],
        isRepeat: Bool,
        worker: WorkerID,
        thenClaim: ClaimRequest?,
        queue: String
    ) async throws -> (outcomes: [SettleOutcome], claim: Claim?)

    /// Ends runs that did not finish.
    func fail(_ failures: [Failure], worker: WorkerID, queue: String) async throws -> [SettleOutcome]

    /// Gives operations back without having tried them. Operations that go to the front keep their order.
    func giveBack(_ returns: [Return], worker: WorkerID, queue: String) async throws -> [SettleOutcome]

    /// Stores progress, log lines, checkpoints and acknowledged cancels under their fences.
    ///
    /// `number` grows with each new call of a worker, and a repeated call keeps its number. So a repeated call stores
    /// its log lines only once. 0 = not numbered.
    ///
    /// - Returns: for each report, whether its fence is still valid.
    func report(_ reports: [Report], number: Int, worker: WorkerID, queue: String) async throws -> [Bool]

    /// Stores the result of an effect under its fence, once for each label of the operation.
    func remember(_ result: EffectResult, worker: WorkerID, queue: String) async throws -> OnceResults.Stored

    /// Returns how the dependencies of an operation ended, in the order of their names.
    func inputs(of id: OperationID, queue: String) async throws -> [DependencyInput]

    // MARK: Leases

    /// Renews the worker's lease. Blocks the calling thread. The heartbeat has its own thread and connection, so that a
    /// busy cooperative pool or a full command queue does not delay it.
    func beat(_ beat: Beat, queue: String) throws -> BeatReply

    /// Makes the worker and the server agree on what the worker owns, and stores the worker's epoch.
    func reconcile(known: [Int64], worker: WorkerID, epoch: Int, queue: String) async throws -> Reconciliation

    /// Does one bounded step of cleaning up: recovers operations of a lapsed worker, or clears away a cancelled batch,
    /// or ends expired operations, or notifies dependents.
    func sweep(queue: String) async throws -> SweepReply

    /// Recovers the operations of a worker in one bounded step, without waiting for its lease to lapse.
    ///
    /// Call this only after the worker's process has ended. Redis refuses later writes of a live worker, but an
    /// operation's body could run twice at the same time.
    func recoverWorker(worker: WorkerID, queue: String) async throws -> SweepReply

    /// Gives up the worker's lease, once it holds no operations.
    ///
    /// - Parameter statistics: the statistics that no answered heartbeat has included, oldest first.
    func retire(worker: WorkerID, statistics: [StatisticsDelta], queue: String) async throws

    // MARK: Schedules

    /// Returns schedules whose instant has come, earliest first.
    func dueSchedules(queue: String) async throws -> SchedulePage

    /// Enqueues the operation of a schedule's instant and sets the next instant. Only one of several workers that try
    /// succeeds.
    func fire(_ firing: ScheduleFiring, queue: String) async throws -> FiringReply

    // MARK: Waiting for work

    /// Waits until an operation could start in one of the queues.
    ///
    /// The caller then owns the wake-up token of that queue: it claims there, or puts the token back with `wake`.
    ///
    /// - Returns: the queue that has work; nil after `timeout`.
    /// - Throws: `CancellationError` if the task is cancelled.
    func waitForWakeUp(queues: [String], timeout: Duration) async throws -> String?

    /// Waits as `waitForWakeUp` does, and claims at the end of the wait, without a second round trip.
    ///
    /// The claim may happen whether or not a token was taken. Cancelling the task ends the wait, and the answer is
    /// still returned. In a cluster the call only waits.
    ///
    /// If the call throws, the token may have been taken and the claim may have happened: raise the epoch and
    /// reconcile.
    func claimAtWakeUp(_ request: ClaimRequest, queue: String, timeout: Duration) async throws -> WakeUpAnswer

    /// Puts the wake-up token of a queue back.
    func wake(queue: String) async throws

    // MARK: Cancels

    /// Reads the stored cancel requests for these operations of the worker, at most `SluiceDefaults.batch`, and for the
    /// whole queue. A message counts only after this call has confirmed it.
    func requestedCancels(of fences: [Int64], worker: WorkerID, queue: String) async throws -> RequestedCancels

    /// Streams the messages to this worker. The stream does not end when the connection breaks.
    func controlMessages(worker: WorkerID, queues: [String]) -> AsyncStream<ControlMessage>
}

/// A broker whose queues may be on several servers. If one server cannot be reached, a worker still renews its leases
/// on the others.
package protocol SpreadBroker: WorkerBroker {
    /// Whether the queues are on several servers.
    var isSpread: Bool { get }

    /// Renews the leases of many queues at once. Blocks the calling thread as `beat(_:queue:)` does, and for no longer.
    ///
    /// - Returns: for each heartbeat the reply or the error, in order.
    func beats(_ beats: [(beat: Beat, queue: String)]) -> [Result<BeatReply, any Error>]
}
