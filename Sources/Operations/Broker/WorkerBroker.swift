/// What a worker needs: it claims operations, settles them, keeps its lease, and is notified of cancels.
package protocol WorkerBroker: StandingCancelReading, RelayingBroker {
    // MARK: Claims and ends

    /// Hands out up to `capacity` operations in order of effective priority.
    func claim(_ request: ClaimRequest, queue: String) async throws -> Claim

    /// Ends operations well and, in the same step, claims again. A repeat is never fused with a claim.
    func complete(
        _ completions: [Completion],
        isRepeat: Bool,
        worker: WorkerID,
        thenClaim: ClaimRequest?,
        queue: String
    ) async throws -> (outcomes: [SettleOutcome], claim: Claim?)

    /// Ends runs that did not finish.
    func fail(_ failures: [Failure], worker: WorkerID, queue: String) async throws -> [SettleOutcome]

    /// Gives operations back untried; those given to the front keep their order.
    func giveBack(_ returns: [Return], worker: WorkerID, queue: String) async throws -> [SettleOutcome]

    /// Stores progress, log lines, checkpoints and acknowledged cancels under their fences.
    ///
    /// `number` grows with each call of a worker that is not a repeat: a log line of a repeated call is stored once. 0 = not
    /// numbered.
    ///
    /// - Returns: for each report whether its fence is still valid.
    func report(_ reports: [Report], number: Int, worker: WorkerID, queue: String) async throws -> [Bool]

    /// Stores the result of an effect under its fence, once for each label of the operation.
    func remember(_ result: EffectResult, worker: WorkerID, queue: String) async throws -> OnceResults.Stored

    /// How the dependencies of an operation ended, in the order of their names.
    func inputs(of id: OperationID, queue: String) async throws -> [DependencyInput]

    // MARK: Leases

    /// Renews the worker's lease. Blocks the calling thread: the heartbeat has a thread and a connection of its own, so that
    /// neither a busy cooperative pool nor a full command queue delays it.
    func beat(_ beat: Beat, queue: String) throws -> BeatReply

    /// Makes the worker and the server agree on what the worker owns, and stores the worker's epoch.
    func reconcile(known: [Int64], worker: WorkerID, epoch: Int, queue: String) async throws -> Reconciliation

    /// Hands back what a lapsed worker held, and clears away the rest of a cancelled queue, one bounded step.
    func sweep(queue: String) async throws -> SweepReply

    /// Hands back what a worker held, one bounded step, without waiting for its lease to lapse. Call it only once the worker's process
    /// has ended: Redis refuses what a live one still writes, but the body of an operation could run twice at the same time.
    func abandon(worker: WorkerID, queue: String) async throws -> SweepReply

    /// Gives up the worker's lease, once it holds nothing.
    ///
    /// - Parameter figures: what it has counted and no heartbeat has been answered for, the oldest first.
    func retire(worker: WorkerID, figures: [FiguresDelta], queue: String) async throws

    // MARK: Schedules

    /// Schedules whose instant has come, the earliest first.
    func dueSchedules(queue: String) async throws -> SchedulePage

    /// Enqueues the operation of a schedule's instant and sets the next instant, once, whichever workers try.
    func fire(_ firing: ScheduleFiring, queue: String) async throws -> FiringReply

    // MARK: Waiting for work

    /// Waits until something could be started in one of the queues. The caller then owns that queue's wake-up token: it claims
    /// there, or puts the token back with `wake`.
    ///
    /// - Returns: the queue that has work; nil after `timeout`. Throws `CancellationError` when the task is cancelled.
    func waitForWakeUp(queues: [String], timeout: Duration) async throws -> String?

    /// Waits as `waitForWakeUp` does, and claims where the wait ends, without a second round trip. The claim may happen however
    /// the wait ends. Cancelling the task ends the wait; the answer is returned all the same. In a cluster it only waits.
    ///
    /// If it throws, the token may have been taken and the claim may have happened: raise the epoch and reconcile.
    func claimAtWakeUp(_ request: ClaimRequest, queue: String, timeout: Duration) async throws -> WakeUpAnswer

    /// Puts a queue's wake-up token back.
    func wake(queue: String) async throws

    // MARK: Cancels

    /// Reads what is stored about cancels: of these operations of the worker, at most `Defaults.batch`, and of the whole queue. A message
    /// counts only after this has confirmed it.
    func requestedCancels(of fences: [Int64], worker: WorkerID, queue: String) async throws -> RequestedCancels

    /// Messages to this worker. The stream does not end when the connection breaks.
    func controlMessages(worker: WorkerID, queues: [String]) -> AsyncStream<ControlMessage>
}

/// A broker whose queues may be on several servers. If one server is away, a worker still renews its leases on
/// the others.
package protocol SpreadBroker: WorkerBroker {
    /// Whether the queues are on several servers.
    var isSpread: Bool { get }

    /// Renews the leases of many queues at once. Blocks the calling thread as `beat(_:queue:)` does, and for no longer.
    ///
    /// - Returns: what each beat would have returned or thrown, in order.
    func beats(_ beats: [(beat: Beat, queue: String)]) -> [Result<BeatReply, any Error>]
}
