import Operations
import Synchronization

/// Reads the data of the monitor repeatedly, in another task than the one that handles keys.
///
/// One pass: 1. read all queues; 2. read the operation on the detail screen, the rows of the operations' screen, or the lost workers on the
/// workers' screen; 3. listen to the events of the current queues; 4. sleep until the next read is due. Events only bring the next read forward.
final class MonitorFetcher: Sendable {
    /// A result of a pass.
    enum Outcome: Sendable {
        case read(NamespaceSnapshot, DetailReading?)
        /// The newest lost workers.
        case lost([LostSummary])
        /// The rows of the operations' screen.
        case listed(OperationsReading)
        case failed(String, retryAt: Duration)
        /// Events are not available, so reads keep their interval. With the reason.
        case deaf(String)
        /// The time between two reads, long enough that reading takes at most a tenth of Redis' time.
        case interval(Duration)
    }

    /// What to read, depending on the screen.
    struct Focus: Sendable, Equatable {
        var interval: Duration
        var address: OperationAddress?
        var nextLine = 0
        /// Whether the screen shows lost workers.
        var showsLost = false
        /// The state on the operations' screen; nil = another screen is shown.
        var listedState: OperationState?
    }

    /// The shortest time between two reads.
    private static let leastInterval = Duration.milliseconds(250)
    private static let retryPause = Duration.seconds(2)
    private static let executingRows = 200
    private static let logLines = 1_000
    private static let lostRows = 20
    /// The rows of the operations' screen, of each queue.
    private static let listedRows = 100

    private let inspection: any MonitorBroker
    private let origin: ContinuousClock.Instant
    private let focus: Mutex<Focus>
    private let pace = FetchPace()
    private let listener = Mutex<(queues: [String], task: Task<Void, Never>)?>(nil)
    private let startedAt: Mutex<ContinuousClock.Instant>
    private let lastCost = Mutex(Duration.zero)

    init(_ inspection: any MonitorBroker, origin: ContinuousClock.Instant, interval: Duration) {
        self.inspection = inspection
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

    /// One pass without the sleep.
    func runOnce(_ deliver: @escaping @Sendable (Outcome) -> Void) async {
        let start = ContinuousClock.now
        startedAt.withLock { $0 = start }
        let focus = focus.withLock { $0 }
        // A `hurry` during this pass must stay in effect at its end.
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
            if let state = focus.listedState {
                let queues = snapshot.queues.filter { ($0.counts[state] ?? 0) > 0 }.map(\.queue)
                deliver(.listed(try await inspection.operations(state, queues: queues, limit: Self.listedRows)))
            }
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

    /// The cost of a read: the lesser of the last two times, because one may include a wait for a connection.
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
        let (first, lines) = try await log
        return DetailReading(
            address: address,
            detail: try await details.first ?? nil,
            time: snapshot.queues.first { $0.queue == address.queue }?.time ?? snapshot.time,
            firstLine: first,
            lines: lines
        )
    }

    /// Listens to these queues, if they differ from the previous ones.
    private func listen(to queues: [String], _ deliver: @escaping @Sendable (Outcome) -> Void) {
        listener.withLock { listener in
            guard listener?.queues != queues else { return }
            listener?.task.cancel()
            let events = inspection.events(queues: queues)
            let task = Task { [self] in
                do { for try await _ in events { hint() } } catch { deliver(.deaf("\(error)")) }
            }
            listener = (queues, task)
        }
    }

    private func hint() { pace.bringForward(to: startedAt.withLock { $0 } + Self.leastInterval) }
}
