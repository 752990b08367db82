/// What a monitor needs: it reads, and changes nothing. Nothing here is on the hot path.
package protocol MonitorBroker: StandingCancelReading, ScheduleReading, EdgeReading {
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

    /// What happened in the last minutes, hours or days, as workers have counted it; a heartbeat late, and without what killed workers had
    /// not sent.
    func figures(_ query: FiguresQuery, queue: String) async throws -> FiguresReply

    /// Tracked operations by id, in order; nil where there is none.
    func details(_ ids: [OperationID], queue: String) async throws -> [OperationDetail?]

    /// One page of a state's place, newest first. Ready: lanes from the highest priority, next to run first.
    ///
    /// - Parameters:
    ///   - limit: most operations of the page, with those that are left out; at most `OperationPage.limit`.
    ///   - sought: leaves out what certainly does not have it.
    func page(
        state: OperationState,
        queue: String,
        cursor: String?,
        limit: Int,
        sought: SoughtText?
    ) async throws -> OperationPage

    /// The ready operations that are ahead of one.
    ///
    /// - Parameter limit: how far to look in its lane, 1 to `Backlog.limit`.
    /// - Returns: nil if no ready tracked operation has this id.
    func backlog(aheadOf id: OperationID, queue: String, limit: Int) async throws -> Backlog?

    /// What holds back the operations of a limit key.
    func limitKey(_ key: String, queue: String) async throws -> LimitKeyState

    /// Why servers take no writes now; empty where they do, and where this user may not ask. Nodes of a cluster that are away are left out.
    func writeRefusals() async throws -> [WriteRefusal]

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

    /// What is kept of a queue's events, oldest first.
    ///
    /// - Parameters:
    ///   - cursor: the last entry that was read; nil = begin `agoMilliseconds` before now.
    ///   - limit: most entries, 1 to `Defaults.batch`.
    func storedEvents(queue: String, after cursor: String?, agoMilliseconds: Int64, limit: Int) async throws
        -> StoredEvents

    /// The nodes of a cluster that have some of these queues and cannot be reached. Waits for the first try to reach each, and not for more;
    /// empty where there is one server.
    func absentNodes(of queues: [String]) async throws -> [AbsentNode]
}

extension MonitorBroker {
    /// One page of a state's place, with all of its operations.
    package func page(
        state: OperationState,
        queue: String,
        cursor: String?,
        limit: Int
    ) async throws -> OperationPage {
        try await page(state: state, queue: queue, cursor: cursor, limit: limit, sought: nil)
    }

    /// Milliseconds since 1970 by the server's clock.
    package func serverTime() async throws -> Int64 {
        try await standingCancels(queue: Defaults.queue).time
    }

    package func absentNodes(of queues: [String]) async throws -> [AbsentNode] { [] }
    package func writeRefusals() async throws -> [WriteRefusal] { [] }

    /// Reads the details of any number of operations, in calls of bounded size.
    package func allDetails(_ ids: [OperationID], queue: String) async throws -> [OperationDetail?] {
        var all: [OperationDetail?] = []
        for start in stride(from: 0, to: ids.count, by: Defaults.batch) {
            all += try await details(Array(ids[start..<min(start + Defaults.batch, ids.count)]), queue: queue)
        }
        return all
    }

    /// All that an operation depends on, or that depends on it, in the order of their names.
    package func edges(_ kind: DependencyEdges, of id: OperationID, queue: String) async throws -> [DependencyName] {
        try await edges(kind, of: id, limit: .max, queue: queue)
    }
}

/// What an operator needs: it reads, and changes what is in queues.
package protocol OperatorBroker: MonitorBroker, ScheduleChanging, OperationCancelling, LinkingBroker {
    /// Cancels everything that is in the queue at this moment, in constant time.
    ///
    /// - Returns: how many were waiting, and how many run and were asked to stop.
    func cancelQueue(_ queue: String, request: CancelRequest) async throws -> (waiting: Int, executing: Int)

    /// Sets a standing cancel. An equal query keeps its id and gets another end, requester and reason.
    ///
    /// - Returns: its id and when it ends; nil = the queue has `StandingCancel.limit` others.
    func setStandingCancel(_ new: NewStandingCancel, queue: String) async throws -> (id: Int64, endsAt: Int64)?

    /// Removes standing cancels.
    ///
    /// - Parameters:
    ///   - ids: nil = all of the queue.
    ///   - by: who wants it, for the event of the change.
    /// - Returns: the ids of those that were removed.
    func removeStandingCancels(_ ids: [Int64]?, by: String, queue: String) async throws -> [Int64]

    /// Makes dead, cancelled, expired (fresh attempts) or retrying, scheduled (at once) operations ready.
    ///
    /// - Parameter by: who wants it, for the event of the change.
    func retry(_ ids: [OperationID], by: String, queue: String) async throws -> [ChangeOutcome]

    /// Changes priority, time or envelope of ready, scheduled and retrying operations, if they are still as they were read.
    ///
    /// A new priority puts a ready one behind the others of that priority.
    func edit(_ edits: [OperationEdit], by: String, queue: String) async throws -> [EditOutcome]

    /// Removes a part of what waits in a queue, with all that is stored about it.
    ///
    /// - Parameter progress: nil = begin; else what the call before has answered. What came after the first call stays.
    func purge(_ queue: String, by: String, from progress: PurgeProgress?) async throws -> PurgeProgress

    /// Blocks ready, scheduled and retrying operations until they are released, cancelled or expire.
    func hold(_ ids: [OperationID], by: String, reason: String, queue: String) async throws -> [ChangeOutcome]

    /// Releases blocked operations: to the heads of their lanes, in the order of the call, or back to the time for which they waited.
    func release(_ ids: [OperationID], by: String, queue: String) async throws -> [ChangeOutcome]

    /// Removes operations that do not run, with all that is stored about them.
    ///
    /// - Parameter by: who wants it, for the event of the change.
    func remove(_ ids: [OperationID], by: String, queue: String) async throws -> [ChangeOutcome]

    /// Stores what a worker is to do. The worker takes it with its next heartbeat; another incarnation of it does not.
    ///
    /// - Parameter by: who wants it.
    /// - Returns: false if the worker has no lease in the queue.
    func steer(_ order: WorkerOrder, worker: String, by: String, queue: String) async throws -> Bool

    /// Sets limits of a queue, or removes them; others stay as they were. What runs goes on.
    ///
    /// - Parameter by: who wants it, for the event of the change.
    /// - Returns: the limits that the queue has now.
    func setLimits(_ limits: [QueueLimit], by: String, queue: String) async throws -> QueueLimits

    /// Pauses (for a time, at least a millisecond, or until resumed) or resumes a queue. What runs goes on.
    func setPaused(_ request: PauseRequest, queue: String) async throws
}
