import Operations
import SluiceOperator
import Synchronization

/// Reads the data of the monitor repeatedly, in a task apart from the one that handles keys.
///
/// A pass has four steps:
/// 1. Read all queues.
/// 2. Read the data of the shown screen: one operation, rows of operations, schedules and groups, lost workers, events
///    or statistics.
/// 3. Listen to the events of the current queues.
/// 4. Sleep until the next read is due. Events only bring the next read forward.
final class MonitorFetcher: Sendable {
    /// A result of a pass.
    enum Outcome: Sendable {
        case read(NamespaceSnapshot, DetailReading?)
        /// The newest lost workers.
        case lost([LostSummary])
        /// The schedules of the queues.
        case schedules([ScheduleRow])
        /// The groups that have not ended.
        case groups([GroupRow])
        /// The rows of the operations' screen.
        case listed(OperationsReading)
        case failed(String, retryAt: Duration)
        /// The events since the last pass, and when they were read.
        case events(EventsReading, at: Duration)
        /// The statistics of the last hour.
        case statistics(StatisticsBoard)
        /// Events are not available, with the reason. Reads keep their interval.
        case deaf(String)
        /// The time between two reads, at least nine times the duration of a read.
        case interval(Duration)
    }

    /// The data to read, depending on the screen.
    struct Focus: Sendable, Equatable {
        var interval: Duration
        var address: OperationAddress?
        var nextLine = 0
        /// Whether the screen shows the graph of the operation.
        var showsGraph = false
        /// Whether the screen shows lost workers.
        var showsLost = false
        /// Whether the screen shows schedules and groups.
        var showsSchedules = false
        /// The request of the operations screen; nil = another screen is shown.
        var listed: OperationsRequest?
        /// Whether the screen shows events.
        var showsEvents = false
        /// Whether the screen shows statistics of the last hour.
        var showsStatistics = false
    }

    private static let retryPause = Duration.seconds(2)
    private static let executingRows = 200
    private static let logLines = 1_000
    private static let lostRows = 20
    private static let scheduleQueues = 20
    private static let groupQueues = 20
    private static let groupsInterval = Duration.seconds(5)
    private static let graphOperations = 200
    /// Statistics change with heartbeats only.
    private static let statisticsInterval = Duration.seconds(5)
    private static let statisticsQueues = 100

    private let inspection: any MonitorBroker
    /// The keys that read arguments, for filters.
    private let view: PayloadView
    private let queries = QueryMemory()
    private let origin: ContinuousClock.Instant
    private let focus: Mutex<Focus>
    private let pace = FetchPace()
    private let listener = Mutex<(queues: [String], task: Task<Void, Never>)?>(nil)
    private let startedAt: Mutex<ContinuousClock.Instant>
    private let hints = Mutex(HintPace())
    private let lastCost = Mutex(Duration.zero)
    private let log = Mutex(EventLog())
    /// When the statistics are read next.
    private let statisticsAt = Mutex(ContinuousClock.now)
    /// When the groups are read next.
    private let groupsAt = Mutex(ContinuousClock.now)

    init(
        _ inspection: any MonitorBroker,
        origin: ContinuousClock.Instant,
        interval: Duration,
        view: PayloadView = PayloadView()
    ) {
        self.inspection = inspection
        self.view = view
        self.origin = origin
        focus = Mutex(Focus(interval: interval))
        startedAt = Mutex(origin)
    }

    /// Sets what to read.
    func look(at new: Focus) { focus.withLock { $0 = new } }

    /// Reads as soon as possible.
    func hurry() { pace.bringForward(to: .now) }

    /// Runs until the task is cancelled.
    func run(_ deliver: @escaping @Sendable (Outcome) -> Void) async {
        while !Task.isCancelled {
            await runOnce(deliver)
            await pace.wait()
        }
        listener.withLock { $0?.task.cancel() }
    }

    /// Runs one pass, without the sleep.
    func runOnce(_ deliver: @escaping @Sendable (Outcome) -> Void) async {
        let start = ContinuousClock.now
        startedAt.withLock { $0 = start }
        hints.withLock { $0.begin() }
        let focus = focus.withLock { $0 }
        // A `hurry` during this pass stays in effect at its end.
        pace.schedule(at: start + .seconds(3_600))
        do {
            let snapshot = try await inspection.namespaceSnapshot(executingRows: Self.executingRows) { [origin] in
                ContinuousClock.now - origin
            }
            let detail = try await read(focus, of: snapshot)
            if focus.showsLost {
                let queues = snapshot.queues.map(\.queue)
                deliver(.lost(try await inspection.lostWorkers(queues: queues, limit: Self.lostRows)))
            }
            if focus.showsSchedules {
                deliver(.schedules(try await inspection.scheduleRows(of: snapshot, queues: Self.scheduleQueues)))
                if groupsAt.withLock({ $0 <= start }) {
                    groupsAt.withLock { $0 = start + Self.groupsInterval }
                    let groups = try await inspection.groupRows(of: snapshot, queues: Self.groupQueues, view: view)
                    deliver(.groups(groups))
                }
            }
            if let request = focus.listed {
                let scan = OperationsScan(broker: inspection, snapshot: snapshot, view: view, memory: queries)
                deliver(.listed(try await scan.run(request)))
            }
            if focus.showsStatistics, statisticsAt.withLock({ $0 <= start }) {
                statisticsAt.withLock { $0 = start + Self.statisticsInterval }
                deliver(.statistics(try await statistics(of: snapshot)))
            }
            if focus.showsEvents { deliver(try await events(of: snapshot)) }
            let interval = max(focus.interval, cost(of: ContinuousClock.now - start) * 9)
            deliver(.interval(interval))
            deliver(.read(snapshot, detail))
            listen(to: snapshot.queues.map(\.queue), deliver)
            pace.bringForward(to: start + interval)
        } catch {
            guard !Task.isCancelled else { return }
            let retryAt = ContinuousClock.now + Self.retryPause
            deliver(.failed("\(error)", retryAt: retryAt - origin))
            pace.bringForward(to: retryAt)
        }
    }

    /// Returns the cost of a read: the lesser of the last two times, because one may include a wait for a connection.
    private func cost(of took: Duration) -> Duration {
        lastCost.withLock { last in
            defer { last = took }
            return min(last, took)
        }
    }

    private func read(_ focus: Focus, of snapshot: NamespaceSnapshot) async throws -> DetailReading? {
        guard let address = focus.address else { return nil }
        async let details = inspection.details([address.id], queue: address.queue)
        async let log = inspection.log(address.id, queue: address.queue, from: focus.nextLine, limit: Self.logLines)
        async let connected = graph(focus, of: address)
        let (first, lines) = try await log
        return DetailReading(
            address: address,
            detail: try await details.first ?? nil,
            time: snapshot.queues.first { $0.queue == address.queue }?.time ?? snapshot.time,
            firstLine: first,
            lines: lines,
            graph: try await connected
        )
    }

    private func graph(_ focus: Focus, of address: OperationAddress) async throws -> OperationGraph? {
        guard focus.showsGraph else { return nil }
        return try await inspection.graph(of: address.id, queue: address.queue, limit: Self.graphOperations)
    }

    /// Listens to these queues, if they differ from the previous ones.
    private func listen(to queues: [String], _ deliver: @escaping @Sendable (Outcome) -> Void) {
        listener.withLock { listener in
            guard listener?.queues != queues else { return }
            listener?.task.cancel()
            let events = inspection.events(queues: queues)
            let task = Task { [self] in
                do { for try await batch in events { take(batch) } } catch { deliver(.deaf("\(error)")) }
            }
            listener = (queues, task)
        }
    }

    private func take(_ batch: EventBatch) {
        // Events wait for the next pass only while their screen is shown.
        let isShown = focus.withLock { $0.showsEvents }
        log.withLock { log in
            if isShown { log.add(batch, at: ContinuousClock.now - origin) } else { log = EventLog() }
        }
        hint()
    }

    private func statistics(of snapshot: NamespaceSnapshot) async throws -> StatisticsBoard {
        let queues = snapshot.queues.prefix(Self.statisticsQueues).map(\.queue)
        return StatisticsBoard(
            try await inspection.statistics(queues: queues, StatisticsQuery(.minute, count: StatisticsBoard.minutes))
        )
    }

    /// Returns the events since the last pass. The first pass begins with the stored events of the last minutes.
    private func events(of snapshot: NamespaceSnapshot) async throws -> Outcome {
        if log.withLock({ $0.needsReplay }) {
            for queue in snapshot.queues {
                var cursor: String?
                repeat {
                    let stored = try await inspection.storedEvents(
                        queue: queue.queue,
                        after: cursor,
                        agoMilliseconds: EventLog.replayedMilliseconds,
                        limit: SluiceDefaults.batch
                    )
                    log.withLock { $0.replay(stored, of: queue.queue) }
                    cursor = stored.entries.count < SluiceDefaults.batch ? nil : stored.cursor
                } while cursor != nil
            }
            log.withLock { $0.endReplay() }
        }
        let now = ContinuousClock.now - origin
        return .events(log.withLock { $0.take(time: snapshot.time ?? 0, now: now) }, at: now)
    }

    private func hint() { pace.bringForward(to: startedAt.withLock { $0 } + hints.withLock { $0.hint() }) }
}
