/// The calls of a monitor, which only reads. No call here is on the hot path.
package protocol MonitorBroker: StandingCancelReading, ScheduleReading, EdgeReading, ChangeReading {
    /// Returns the queues of the namespace, sorted.
    func queues() async throws -> [String]

    /// Reads counts, totals, workers and running operations of a queue, all at one moment.
    ///
    /// - Parameter executingRows: the most running operations to list.
    func snapshot(queue: String, executingRows: Int) async throws -> QueueSnapshot

    /// Returns the workers that the queue lost within `SluiceDefaults.lostWorkersAge`, newest first.
    ///
    /// - Parameter limit: the most workers to return, 1 to `SluiceDefaults.lostWorkersKept`.
    func lostWorkers(queue: String, limit: Int) async throws -> [LostWorker]

    /// Reads the statistics of the last minutes, hours or days, as workers counted them. The numbers are one heartbeat
    /// late, and lack those that killed workers had not sent.
    func statistics(_ query: StatisticsQuery, queue: String) async throws -> StatisticsReply

    /// Returns the builds that workers of the queue have reported, the newest first; at most
    /// `SluiceDefaults.buildsKept`.
    func builds(queue: String) async throws -> [BuildSight]

    /// Reads tracked operations by id, in the order of `ids`; nil for an id without a record.
    func details(_ ids: [OperationID], queue: String) async throws -> [OperationDetail?]

    /// Reads one page of the operations in a state, newest first. Ready operations come by lane, highest priority
    /// first, next to run first.
    ///
    /// - Parameters:
    ///   - limit: the most operations to read, including those that are left out; at most `OperationPage.limit`.
    ///   - sought: leave out operations that certainly lack this text.
    func page(
        state: OperationState,
        queue: String,
        cursor: String?,
        limit: Int,
        sought: SoughtText?
    ) async throws -> OperationPage

    /// Counts the ready operations ahead of one.
    ///
    /// - Parameter limit: how far to read its lane, 1 to `Backlog.limit`.
    /// - Returns: nil if no ready tracked operation has this id.
    func backlog(aheadOf id: OperationID, queue: String, limit: Int) async throws -> Backlog?

    /// Reads which operations have unique keys now, in the order of `keys`; nil for a free key. An operation that waits
    /// for its turn at a key does not have it.
    ///
    /// - Parameter keys: at most `SluiceDefaults.batch`.
    func keyHolders(_ keys: [String], queue: String) async throws -> [OperationID?]

    /// Reads the limit of a limit key and the operations that it holds back.
    func limitKey(_ key: String, queue: String) async throws -> LimitKeyState

    /// Returns why servers refuse writes now. Empty if they accept writes, or without the permission to ask.
    /// Unreachable nodes of a cluster are left out.
    func writeRefusals() async throws -> [WriteRefusal]

    /// Reads log lines of an operation, from a line number on. Numbers start at 0 and keep growing while old lines are
    /// dropped.
    ///
    /// - Returns: the lines, and the number of the first one.
    func log(_ id: OperationID, queue: String, from line: Int, limit: Int) async throws -> (
        first: Int, lines: [LogLine]
    )

    /// Streams the events of the queues from now on. A gap in the numbers means that messages were lost: read a
    /// snapshot.
    ///
    /// Throws `.denied` if the server refuses the subscription.
    func events(queues: [String]) -> AsyncThrowingStream<EventBatch, any Error>

    /// Reads the stored events of a queue, oldest first.
    ///
    /// - Parameters:
    ///   - cursor: the last entry that was read; nil = begin `agoMilliseconds` before now.
    ///   - limit: the most entries to read, 1 to `SluiceDefaults.batch`.
    func storedEvents(queue: String, after cursor: String?, agoMilliseconds: Int64, limit: Int) async throws
        -> StoredEvents

    /// Returns the nodes of a cluster that have some of these queues and cannot be reached; empty for a single server.
    /// Waits only for the first attempt to reach each node.
    func absentNodes(of queues: [String]) async throws -> [AbsentNode]
}

extension MonitorBroker {
    /// Reads one page of the operations in a state, and leaves none out.
    package func page(
        state: OperationState,
        queue: String,
        cursor: String?,
        limit: Int
    ) async throws -> OperationPage {
        try await page(state: state, queue: queue, cursor: cursor, limit: limit, sought: nil)
    }

    /// Returns the server's clock, in milliseconds since 1970.
    package func serverTime() async throws -> Int64 {
        try await standingCancels(queue: SluiceDefaults.queue).time
    }

    package func absentNodes(of queues: [String]) async throws -> [AbsentNode] { [] }
    package func writeRefusals() async throws -> [WriteRefusal] { [] }

    /// Reads the details of any number of operations, in calls of bounded size.
    package func allDetails(_ ids: [OperationID], queue: String) async throws -> [OperationDetail?] {
        var all: [OperationDetail?] = []
        for start in stride(from: 0, to: ids.count, by: SluiceDefaults.batch) {
            all += try await details(Array(ids[start..<min(start + SluiceDefaults.batch, ids.count)]), queue: queue)
        }
        return all
    }

    /// Returns all dependencies or all dependents of an operation, in the order of their names.
    package func edges(_ kind: DependencyEdges, of id: OperationID, queue: String) async throws -> [DependencyName] {
        try await edges(kind, of: id, limit: .max, queue: queue)
    }
}

/// The calls of an operator: reads and changes of queues.
package protocol OperatorBroker: MonitorBroker, ScheduleChanging, OperationCancelling, LinkingBroker, ChangeStoring {
    /// Cancels all operations that are in the queue at this moment, in constant time.
    ///
    /// - Returns: how many were waiting, and how many run and were asked to stop.
    func cancelQueue(_ queue: String, request: CancelRequest) async throws -> (waiting: Int, executing: Int)

    /// Sets a standing cancel. An equal query keeps its id and gets a new end, author and reason.
    ///
    /// - Returns: the id and the end; nil = the queue has `StandingCancel.limit` other standing cancels.
    func setStandingCancel(_ new: NewStandingCancel, queue: String) async throws -> (id: Int64, endsAt: Int64)?

    /// Removes standing cancels.
    ///
    /// - Parameters:
    ///   - ids: the standing cancels to remove; nil = all of the queue.
    ///   - by: the author, for the event of the change.
    /// - Returns: the ids of the removed standing cancels.
    func removeStandingCancels(_ ids: [Int64]?, by: String, queue: String) async throws -> [Int64]

    /// Makes ended operations (dead, cancelled or expired) ready with fresh attempts, or retrying and scheduled ones
    /// ready at once.
    ///
    /// An operation with unmet dependencies becomes blocked instead.
    ///
    /// - Parameters:
    ///   - ids: the operations.
    ///   - delays: milliseconds from now, one for each operation: one with a delay becomes scheduled. Empty = none.
    ///   - by: the author, for the event of the change.
    ///   - queue: the queue of the operations.
    func retry(_ ids: [OperationID], delays: [Int64], by: String, queue: String) async throws -> [ChangeOutcome]

    /// Changes priority, time or envelope of ready, scheduled, retrying and blocked operations, if they are unchanged
    /// since they were read.
    ///
    /// A new priority puts a ready operation behind the others of that priority.
    func edit(_ edits: [OperationEdit], by: String, queue: String) async throws -> [EditOutcome]

    /// Removes a bounded part of the waiting operations of a queue, with all their stored data.
    ///
    /// - Parameter progress: the answer of the previous call; nil = begin. Operations that came after the first call
    ///   stay.
    func purge(_ queue: String, by: String, from progress: PurgeProgress?) async throws -> PurgeProgress

    /// Blocks ready, scheduled and retrying operations until they are released, are cancelled, or expire.
    func hold(_ ids: [OperationID], by: String, reason: String, queue: String) async throws -> [ChangeOutcome]

    /// Releases blocked operations. Held ones go to the heads of their lanes in the order of the call, or wait again
    /// for their time. Others lose their dependencies.
    func release(_ ids: [OperationID], by: String, queue: String) async throws -> [ChangeOutcome]

    /// Removes operations that do not run, with all their stored data.
    ///
    /// - Parameter by: the author, for the event of the change.
    func remove(_ ids: [OperationID], by: String, queue: String) async throws -> [ChangeOutcome]

    /// Stores an operator's setting for a worker. The worker takes it with its next heartbeat; another incarnation of
    /// the worker does not.
    ///
    /// - Parameter by: the author.
    /// - Returns: false if the worker has no lease in the queue.
    func control(_ command: WorkerCommand, worker: String, by: String, queue: String) async throws -> Bool

    /// Sets or removes limits of a queue; other limits stay unchanged. Running operations continue.
    ///
    /// - Parameter by: the author, for the event of the change.
    /// - Returns: the limits that the queue has now.
    func setLimits(_ limits: [QueueLimit], by: String, queue: String) async throws -> QueueLimits

    /// Pauses a queue (for at least 1 ms, or until resumed), or resumes it. Running operations continue.
    func setPaused(_ request: PauseRequest, queue: String) async throws
}
