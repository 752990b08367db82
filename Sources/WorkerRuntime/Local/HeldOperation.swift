import Logging
import Operations
import Synchronization

/// An operation that this worker has claimed, until Redis has confirmed its end.
final class HeldOperation: OperationLink {
    /// Why a body was asked to end, apart from a cancel.
    enum Stop: Sendable {
        /// The attempt ran longer than its limit.
        case runTimeout
        /// The worker stops: the operation goes back untried.
        case giveBack
        /// Redis says that this worker no longer owns it, or the lease ended longer ago than the outage grace.
        case lost
    }

    /// An operation's name and when its body began.
    typealias Run = (name: String, startedAt: ContinuousClock.Instant)

    private enum Phase { case claimed, inSlot, running, ended }

    private struct State {
        var phase = Phase.claimed
        var cancellation: OperationCancellation?
        var stop: Stop?
        var executorTask: ExecutorTask?
        var reports = PendingReports()
        var isSettled = false
        /// True if the operation has a slot, or had one when it was given up on and its executor task has not come back
        /// from it.
        var hasSlot = false
        /// Kills the programs that the body has started; see `whenForced`.
        var kill: (@Sendable () -> Void)?
        /// The last checkpoint of this run.
        var checkpoint: [UInt8]?
        /// Made at the first use, as is `producer`.
        var onceResults: OnceResults?
        var producer: RunProducer?
        var run: Run?
        /// The end hook to call if the operation is given up on; nil = already called.
        var endHook: (@Sendable (Settlement) -> Void)?
    }

    let claimed: ClaimedOperation
    /// The index of the operation's queue in the worker's local queue.
    let queue: Int
    private let context: QueueContext
    private let state = Mutex(State())

    init(_ claimed: ClaimedOperation, queue: Int, context: QueueContext) {
        self.claimed = claimed
        self.queue = queue
        self.context = context
    }

    var queueName: String { context.name }
    var logger: Logger { context.logger }
    var operationLogLevel: Logger.Level? { context.operationLogLevel }
    var fence: Int64 { claimed.fence }
    var id: OperationID { claimed.id }
    var ownsLease: Bool { state.withLock { $0.stop != .lost && $0.phase != .ended } && context.leaseIsValid() }
    var cancellation: OperationCancellation? { state.withLock { $0.cancellation } }

    /// Why the body was asked to end.
    var endRequests: (cancellation: OperationCancellation?, stop: Stop?) {
        state.withLock { ($0.cancellation, $0.stop) }
    }

    /// The operation's name, once its body has begun.
    var runName: String? { state.withLock { $0.run?.name } }

    // MARK: Life

    /// Notes that the operation has a slot. The body begins as soon as a thread is free.
    func takeSlot() { state.withLock { ($0.phase, $0.hasSlot) = (.inSlot, true) } }

    /// Notes that the body begins in this executor task.
    ///
    /// - Parameter name: the name of the operation.
    /// - Returns: when the body began; nil = the body must not begin, because a cancel or a stop came first.
    func begin(in executorTask: ExecutorTask, name: String) -> ContinuousClock.Instant? {
        state.withLock { state in
            guard state.cancellation == nil, state.stop == nil else { return nil }
            let now = ContinuousClock.now
            state.phase = .running
            state.executorTask = executorTask
            state.run = (name, now)
            return now
        }
    }

    /// Notes that the body has ended: no further report is stored, and no later cancel or stop reaches its executor
    /// task. An earlier one may still arrive, so the executor task of an operation that was asked to end is not used
    /// again.
    ///
    /// - Returns: whether reports have to be sent before the end, whether the executor task may be used again, and the
    ///   run if the body began; nil if the operation was given up on before.
    func end() -> (reportsAreBusy: Bool, taskIsFree: Bool, run: Run?)? {
        state.withLock { state in
            (state.hasSlot, state.kill) = (false, nil)
            guard state.phase != .ended else { return nil }
            state.phase = .ended
            state.executorTask = nil
            state.endHook = nil
            return (state.reports.isBusy, state.cancellation == nil && state.stop == nil, state.run)
        }
    }

    /// Ends the operation although its body still runs. Later writes of the body are not sent.
    ///
    /// - Returns: whether reports have to be sent before the end, and the run if the body began; nil if the operation
    ///   had ended before, or has no slot.
    func giveUp(_ settlement: Settlement) -> (reportsAreBusy: Bool, run: Run?)? {
        let found = state.withLock { state -> (Bool, Run?, (@Sendable (Settlement) -> Void)?)? in
            guard state.phase != .claimed, state.phase != .ended else { return nil }
            defer { (state.phase, state.executorTask, state.endHook) = (.ended, nil, nil) }
            return (state.reports.isBusy, state.run, state.endHook)
        }
        guard let (reportsAreBusy, run, endHook) = found else { return nil }
        endHook?(settlement)
        return (reportsAreBusy, run)
    }

    /// Sets the end hook to call if the operation is given up on.
    func setEndHook(_ endHook: @escaping @Sendable (Settlement) -> Void) { state.withLock { $0.endHook = endHook } }

    /// Takes the end hook, which is called once.
    ///
    /// - Returns: nil if the hook was taken before.
    func takeEndHook() -> (@Sendable (Settlement) -> Void)? {
        state.withLock { state in
            defer { state.endHook = nil }
            return state.endHook
        }
    }

    /// Claims the right to settle the operation.
    ///
    /// - Returns: true for the first caller only. A body can still return after its operation was given back; its
    ///   result is dropped then.
    func settleOnce() -> Bool {
        state.withLock { state in
            defer { state.isSettled = true }
            return !state.isSettled
        }
    }

    var isSettled: Bool { state.withLock { $0.isSettled } }
    var hasEnded: Bool { state.withLock { $0.phase == .ended } }
    var hasSlot: Bool { state.withLock { $0.hasSlot } }

    /// Tells the operation to end as cancelled. If the body runs, the acknowledgement is added before the body learns
    /// of the cancel. The body may end at once, and nothing is reported after its end.
    ///
    /// - Returns: true the first time, if the operation has not ended.
    func cancel(_ cancellation: OperationCancellation) -> Bool {
        let (executorTask, isNew) = state.withLock { state -> (ExecutorTask??, Bool) in
            guard state.cancellation == nil, state.phase != .ended else { return (nil, false) }
            state.cancellation = cancellation
            return (.some(state.executorTask), state.phase == .running && state.reports.add(.cancelAcknowledged))
        }
        guard let executorTask else { return false }
        if isNew { context.reportsWaiting(self) }
        context.toldToEnd(self)
        executorTask?.cancel()
        return true
    }

    /// Handles a forced cancel, which has ended the operation in Redis: cancels the body and kills the programs that it
    /// has started.
    func force(_ cancellation: OperationCancellation) {
        let (executorTask, kill) = state.withLock { state -> (ExecutorTask?, (@Sendable () -> Void)?) in
            state.cancellation = cancellation
            defer { state.kill = nil }
            return (state.executorTask, state.kill)
        }
        kill?()
        context.toldToEnd(self)
        executorTask?.cancel()
    }

    func whenForced(_ kill: @escaping @Sendable () -> Void) {
        let isForced = state.withLock { state in
            if state.cancellation?.isForced == true { return true }
            if state.hasSlot { state.kill = kill }
            return false
        }
        if isForced { kill() }
    }

    /// Stops the body because this worker no longer owns the operation.
    func lose(_ observers: [any RuntimeObserving], _ logger: Logger) {
        let isRunning = state.withLock { $0.phase == .running }
        guard stop(.lost) else { return }
        logger.warning("lost: this worker no longer owns the operation", metadata: metadata())
        guard isRunning else { return }
        for observer in observers { observer.lostLease(queue: queueName) }
    }

    /// Tells a body to end for another reason than a cancel. The first reason counts, but `lost` replaces others.
    ///
    /// - Returns: true if the reason is new and the operation has not ended.
    @discardableResult
    func stop(_ stop: Stop) -> Bool {
        let executorTask = state.withLock { state -> ExecutorTask?? in
            guard state.phase != .ended, state.stop == nil || (stop == .lost && state.stop != .lost) else { return nil }
            state.stop = stop
            return .some(state.executorTask)
        }
        guard let executorTask else { return false }
        context.toldToEnd(self)
        executorTask?.cancel()
        return true
    }

    // MARK: Reports

    func write(_ content: Report.Content) {
        guard claimed.header.tracked || content == .cancelAcknowledged else { return }
        let isNew = state.withLock { state -> Bool in
            guard state.phase != .ended else { return false }
            if case .checkpoint(let json) = content { state.checkpoint = json }
            return state.reports.add(content)
        }
        if isNew { context.reportsWaiting(self) }
    }

    func lastCheckpoint() async throws -> [UInt8]? {
        guard claimed.header.tracked else { return nil }
        if let own = state.withLock({ $0.checkpoint }) { return own }
        return try await untilAnswered { try await context.stored(id) }?.checkpoint
    }

    func inputs() async throws -> [DependencyInput] {
        guard claimed.header.linked else { return [] }
        return try await untilAnswered { try await context.inputs(id) }
    }

    var isTracked: Bool { claimed.header.tracked }

    func slotWish(sliceIsOver: Bool) -> SlotWish? { context.slotWish(sliceIsOver) }

    var producer: RunProducer? {
        guard let (client, worker) = context.producer else { return nil }
        return state.withLock { state in
            if let known = state.producer { return known }
            let made = RunProducer(client: client, run: RunClaim(worker: worker, fence: fence, id: id))
            state.producer = made
            return made
        }
    }

    var onceResults: OnceResults? {
        guard claimed.header.tracked else { return nil }
        return state.withLock { state in
            if let known = state.onceResults { return known }
            let made = OnceResults(
                id: id,
                read: { [self] in try await untilAnswered { try await context.stored(id) }?.once ?? [:] },
                write: { [self] label, json in
                    let result = EffectResult(fence: fence, id: id, label: label, result: json)
                    return try await untilAnswered { try await context.remember(result) }
                }
            )
            state.onceResults = made
            return made
        }
    }

    /// Repeats a call until it is answered. An outage is no failure of the operation: the body waits until its outage
    /// grace is over.
    private func untilAnswered<Answer>(_ ask: () async throws -> Answer) async throws -> Answer {
        while true {
            do { return try await ask() } catch let error as OperationsError
                where [.unavailable, .outcomeUnknown].contains(error.code)
            {
                guard state.withLock({ $0.stop != .lost && $0.phase != .ended }) else {
                    throw OperationsError(
                        .leaseLost,
                        "this run was stopped because Redis did not answer within the outage grace: \(error.message)",
                        id: id
                    )
                }
                try await Task.sleep(for: .milliseconds(200))
            }
        }
    }

    /// Takes the reports to send now. The end of the operation waits until `reportsSent`.
    func takeReports() -> [Report] {
        state.withLock { $0.reports.take() }.map { Report(fence: fence, id: id, content: $0) }
    }

    /// Notes that the taken reports were sent.
    func reportsSent() {
        let again = state.withLock { state -> Bool in
            state.reports.sent()
            return state.phase != .ended && state.reports.isBusy
        }
        if again { context.reportsWaiting(self) }
    }
}

/// The calls that a held operation makes to its worker. All operations of one answer share them.
final class QueueContext: Sendable {
    /// The queue's name.
    let name: String
    /// The worker's logger.
    let logger: Logger
    /// See `WorkerConfiguration.operationLogLevel`.
    let operationLogLevel: Logger.Level?
    /// True while the worker's lease on the operation's queue is known to be valid.
    let leaseIsValid: @Sendable () -> Bool
    /// Called when an operation has something to report and had nothing before.
    let reportsWaiting: @Sendable (HeldOperation) -> Void
    /// Reads the data that earlier runs of an operation have stored.
    let stored: @Sendable (OperationID) async throws -> StoredByRuns?
    /// Stores the result of an effect.
    let remember: @Sendable (EffectResult) async throws -> OnceResults.Stored
    /// The client with which bodies enqueue, and this worker; nil = bodies cannot enqueue.
    let producer: (client: any BodyClient, worker: WorkerID)?
    /// Reads how the dependencies of an operation ended.
    let inputs: @Sendable (OperationID) async throws -> [DependencyInput]
    /// Returns why the operation should leave its slot. The argument is true if the operation's time slice is over.
    let slotWish: @Sendable (Bool) -> SlotWish?
    /// Called when a cancel or a stop reaches the operation.
    let toldToEnd: @Sendable (HeldOperation) -> Void

    init(
        name: String,
        logger: Logger,
        operationLogLevel: Logger.Level? = nil,
        leaseIsValid: @escaping @Sendable () -> Bool,
        reportsWaiting: @escaping @Sendable (HeldOperation) -> Void,
        stored: @escaping @Sendable (OperationID) async throws -> StoredByRuns?,
        remember: @escaping @Sendable (EffectResult) async throws -> OnceResults.Stored = { _ in .stale },
        producer: (client: any BodyClient, worker: WorkerID)? = nil,
        inputs: @escaping @Sendable (OperationID) async throws -> [DependencyInput] = { _ in [] },
        slotWish: @escaping @Sendable (Bool) -> SlotWish? = { _ in nil },
        toldToEnd: @escaping @Sendable (HeldOperation) -> Void = { _ in }
    ) {
        self.name = name
        self.logger = logger
        self.operationLogLevel = operationLogLevel
        self.leaseIsValid = leaseIsValid
        self.reportsWaiting = reportsWaiting
        self.stored = stored
        self.remember = remember
        self.producer = producer
        self.inputs = inputs
        self.slotWish = slotWish
        self.toldToEnd = toldToEnd
    }
}

/// The reports of an operation that were not sent yet.
struct PendingReports {
    private var isAcknowledged = false
    private var checkpoint: [UInt8]?
    private var progress: Report.Content?
    private var lines: [[UInt8]] = []
    /// Lines that were dropped before they could be sent.
    private var droppedLines = 0
    private var isSending = false

    private var isEmpty: Bool { !isAcknowledged && checkpoint == nil && progress == nil && lines.isEmpty }

    /// True if reports wait or are being sent.
    var isBusy: Bool { isSending || !isEmpty }

    /// - Returns: true if no report waited before.
    mutating func add(_ content: Report.Content) -> Bool {
        defer {
            switch content {
            case .cancelAcknowledged: isAcknowledged = true
            // Never sent under the fence of a held operation.
            case .cancelStopped: break
            case .checkpoint(let data): checkpoint = data
            case .progress: progress = content
            case .log(let line): append(line)
            }
        }
        return !isBusy
    }

    /// Redis keeps only the last lines, so earlier lines need not wait here.
    private mutating func append(_ line: [UInt8]) {
        lines.append(line)
        if lines.count >= 2 * SluiceDefaults.logLines { drop(lines.count - SluiceDefaults.logLines) }
    }

    private mutating func drop(_ count: Int) {
        lines.removeFirst(count)
        droppedLines += count
    }

    /// Takes the last lines. A line before them has the number of dropped lines, because Redis counts only the lines
    /// that it received.
    private mutating func takeLines() -> [[UInt8]] {
        defer { (lines, droppedLines) = ([], 0) }
        guard droppedLines > 0 || lines.count > SluiceDefaults.logLines else { return lines }
        drop(max(0, lines.count - SluiceDefaults.logLines + 1))
        let note =
            "... \(droppedLines) lines were dropped here: a log stores only the newest \(SluiceDefaults.logLines)"
        return [Array(note.utf8)] + lines
    }

    mutating func take() -> [Report.Content] {
        defer {
            isAcknowledged = false
            checkpoint = nil
            progress = nil
        }
        var contents: [Report.Content] = []
        if isAcknowledged { contents.append(.cancelAcknowledged) }
        if let checkpoint { contents.append(.checkpoint(checkpoint)) }
        if let progress { contents.append(progress) }
        contents += takeLines().map { .log(line: $0) }
        isSending = !contents.isEmpty
        return contents
    }

    mutating func sent() { isSending = false }
}

/// The task in which bodies run, one after the other. The task ends if no operation waits, if one was asked to end, or
/// if other tasks should get its thread.
final class ExecutorTask: Sendable {
    private struct State {
        var task: Task<Void, Never>?
        var isCancelled = false
    }

    private let state = Mutex(State())

    func attach(_ task: Task<Void, Never>) {
        let isCancelled = state.withLock { state in
            state.task = task
            return state.isCancelled
        }
        if isCancelled { task.cancel() }
    }

    func cancel() {
        let task = state.withLock { state in
            state.isCancelled = true
            return state.task
        }
        task?.cancel()
    }
}
