/// What a monitor needs: it reads, and changes nothing. Nothing here is on the hot path.
package protocol MonitorBroker: Sendable {
    /// The queues of the namespace, sorted.
    func queues() async throws -> [String]

    /// Counts, totals, workers and what runs, all read at one moment.
    ///
    /// - Parameter executingRows: most of the running operations that are listed.
    func snapshot(queue: String, executingRows: Int) async throws -> QueueSnapshot

    /// Workers that the queue has lost within `Defaults.lostWorkersAge`, the newest first.
    ///
    /// - Parameter limit: most of them, 1 to `Defaults.lostWorkersKept`.
    func lostWorkers(queue: String, limit: Int) async throws -> [LostWorker]

    /// Tracked operations by id, in order; nil where there is none.
    func details(_ ids: [OperationID], queue: String) async throws -> [OperationDetail?]

    /// One page of a state's place, newest first. Ready: lanes from the highest priority, next to run first.
    func page(state: OperationState, queue: String, cursor: String?, limit: Int) async throws -> OperationPage

    /// The ready operations that are ahead of one.
    ///
    /// - Parameter limit: how far to look in its lane, 1 to `Backlog.limit`.
    /// - Returns: nil if no ready tracked operation has this id.
    func backlog(aheadOf id: OperationID, queue: String, limit: Int) async throws -> Backlog?

    /// How much memory each server has and uses; empty where there is no server.
    func memory() async throws -> [ServerMemory]

    /// Log lines of an operation from a line number on. Numbers start at 0 and go on growing while old lines are dropped.
    ///
    /// - Returns: the lines, and the number of the first of them.
    func log(_ id: OperationID, queue: String, from line: Int, limit: Int) async throws -> (
        first: Int, lines: [LogLine]
    )

    /// Events of the queues from now on. A gap in the numbers means that messages were lost: read a snapshot.
    ///
    /// Throws `.denied` if the server refuses the subscription.
    func events(queues: [String]) -> AsyncThrowingStream<EventBatch, any Error>

    /// The nodes of a cluster that have some of these queues and cannot be reached. Waits for the first try to reach each, and not for more;
    /// empty where there is one server.
    func absentNodes(of queues: [String]) async throws -> [AbsentNode]
}

extension MonitorBroker {
    package func absentNodes(of queues: [String]) async throws -> [AbsentNode] { [] }
    package func memory() async throws -> [ServerMemory] { [] }
}

/// What an operator needs: it reads, and changes what is in queues.
package protocol OperatorBroker: MonitorBroker {
    /// Cancels operations: what waits ends now, what runs is asked to stop.
    ///
    /// - Returns: one outcome for each operation, in order.
    func cancel(_ ids: [OperationID], request: CancelRequest, queue: String) async throws -> [CancelOutcome]

    /// Cancels everything that is in the queue at this moment, in constant time.
    ///
    /// - Returns: how many were waiting, and how many run and were asked to stop.
    func cancelQueue(_ queue: String, request: CancelRequest) async throws -> (waiting: Int, executing: Int)

    /// Makes dead, cancelled, expired (fresh attempts) or retrying, scheduled (at once) operations ready.
    func retry(_ ids: [OperationID], queue: String) async throws -> [ChangeOutcome]

    /// Removes operations that do not run, with all that is stored about them.
    func remove(_ ids: [OperationID], queue: String) async throws -> [ChangeOutcome]

    /// Stores what a worker is to do. The worker takes it with its next heartbeat; another incarnation of it does not.
    ///
    /// - Parameter by: who wants it.
    /// - Returns: false if the worker has no lease in the queue.
    func steer(_ order: WorkerOrder, worker: String, by: String, queue: String) async throws -> Bool

    /// Pauses (for a time, at least a millisecond, or until resumed) or resumes a queue. What runs goes on.
    func setPaused(_ paused: Bool, forMilliseconds: Int64?, queue: String) async throws
}
