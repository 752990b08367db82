import Operations
import SluiceOperator

/// Reads the namespace for all pages and streams of this process.
///
/// Redis is read only if a page or a stream asks, and at most once an interval. Callers that ask meanwhile share the
/// read, so the load of Redis does not grow with the number of open pages.
actor SnapshotLoop {
    /// The most running operations to read from each queue.
    private static let executingRows = 200
    private static let lostRows = 20
    /// Statistics change with heartbeats only.
    private static let statisticsInterval = Duration.seconds(5)
    /// The most queues whose statistics are read at once. With more queues, the statistics of each are older.
    private static let statisticsQueues = 100
    /// The most paused queues whose next operations are read at once. With more, those of each are older.
    private static let pausedQueues = 5
    /// A page does not wait longer than this for Redis, and then shows the data of the last read.
    static let patience = Duration.seconds(3)

    let seen = SeenWorkers()
    private let broker: any MonitorBroker
    private let interval: Duration
    private let patience: Duration
    private let origin = ContinuousClock.now
    private var last: Reading?
    /// The read under way, or the one that waits until it is due.
    private(set) var pending: Task<Void, Never>?
    private var sleeper: Task<Void, any Error>?
    /// The number of changes that this process has made, and of those before the last read began.
    private var changes = 0
    private var seenChanges = 0
    private var due = ContinuousClock.now
    private var rates = NamespaceRates()
    private var statistics: (board: StatisticsBoard, lost: [LostSummary], at: ContinuousClock.Instant)?
    private var rotation = QueueRotation<StatisticsReply>(count: SnapshotLoop.statisticsQueues)
    /// Sentences about names in paused queues that no live worker handles.
    private var names = QueueRotation<[String]>(count: SnapshotLoop.pausedQueues)
    private var namesRead: (queues: [String], at: ContinuousClock.Instant)?
    private var lastCost = Duration.zero
    private var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
    private var waiterCount = 0

    init(_ broker: any MonitorBroker, interval: Duration, patience: Duration = SnapshotLoop.patience) {
        (self.broker, self.interval, self.patience) = (broker, interval, patience)
    }

    /// Returns data that is at most an interval old and shows all changes of this process; older data if Redis does
    /// not answer in time.
    func current() async -> Reading {
        if let last, ContinuousClock.now < due, seenChanges == changes { return last }
        let wanted = changes
        await read()
        // The read may have begun before the change.
        if seenChanges < wanted { await read() }
        return last ?? Reading(sequence: 0, failure: silence)
    }

    /// Returns the first reading after the one with this number, or the newest one if Redis does not answer in time.
    func next(after sequence: Int) async -> Reading {
        if let last, last.sequence > sequence { return last }
        await read()
        return last ?? Reading(sequence: 0, failure: silence)
    }

    /// Makes the next caller read again, after a change that it should see.
    func expire() {
        changes += 1
        due = .now
        sleeper?.cancel()
    }

    private var silence: String { "Redis has not answered for \(patience)" }

    // MARK: - Reading

    /// Waits for the read under way, or for a new one once it is due.
    private func read() async {
        if pending == nil {
            let sleeper = Task { [due] in try await Task.sleep(until: due, clock: .continuous) }
            self.sleeper = sleeper
            pending = Task {
                _ = await sleeper.result
                await readNow()
                pending = nil
                for waiter in waiters.values { waiter.resume() }
                waiters = [:]
            }
        }
        waiterCount += 1
        let number = waiterCount
        let limit = max(ContinuousClock.now, due) + patience
        let timer = Task {
            try await Task.sleep(until: limit, clock: .continuous)
            giveUp(number)
        }
        await withCheckedContinuation { waiters[number] = $0 }
        timer.cancel()
    }

    private func giveUp(_ number: Int) {
        guard let waiter = waiters.removeValue(forKey: number) else { return }
        set(last?.board, failure: silence)
        waiter.resume()
    }

    private func readNow() async {
        let start = ContinuousClock.now
        let began = changes
        do {
            let board = try await readBoard(at: start)
            set(board, failure: nil)
            seenChanges = began
            // The lesser of two costs counts, because one may include a wait for a connection.
            let cost = ContinuousClock.now - start
            due = start + max(interval, min(cost, lastCost) * 9)
            lastCost = cost
            if changes > began { due = .now }
        } catch {
            set(last?.board, failure: "\(error)")
            due = .now + interval
        }
    }

    private func set(_ board: Board?, failure: String?) {
        last = Reading(sequence: (last?.sequence ?? 0) + 1, board: board, failure: failure)
    }

    private func readBoard(at start: ContinuousClock.Instant) async throws -> Board {
        let snapshot = try await broker.namespaceSnapshot(executingRows: Self.executingRows) { [origin] in
            ContinuousClock.now - origin
        }
        rates.add(snapshot)
        let known: (board: StatisticsBoard, lost: [LostSummary], at: ContinuousClock.Instant)
        if let statistics, start - statistics.at < Self.statisticsInterval {
            known = statistics
        } else {
            known = try await readStatistics(of: snapshot, at: start)
            statistics = known
        }
        var board = Board(snapshot, rates: rates, statistics: known.board, lost: known.lost)
        board.unknownNames = await readNames(of: snapshot, at: start)
        seen.add(board)
        return board
    }

    /// Reads which of the next operations of paused queues no live worker handles. Workers count them only while they
    /// claim. A queue that cannot be read keeps what was read before: the board does not depend on it.
    private func readNames(
        of snapshot: NamespaceSnapshot,
        at start: ContinuousClock.Instant
    ) async -> [String: [String]] {
        let paused = snapshot.queues.filter { $0.paused && $0.counts[.ready] ?? 0 > 0 && !$0.liveWorkers.isEmpty }
            .sorted { $0.queue < $1.queue }
        let queues = paused.map(\.queue)
        if let namesRead, namesRead.queues == queues, start - namesRead.at < Self.statisticsInterval {
            return names.values
        }
        namesRead = (queues, start)
        let chosen = Set(names.next(of: queues))
        let read = await withTaskGroup(of: (String, [String]?).self) { [broker] group in
            for queue in paused where chosen.contains(queue.queue) {
                group.addTask { (queue.queue, try? await QueuePlaces.waitingNames(broker, queue).unknownNames(queue)) }
            }
            return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
        names.add(read)
        return names.values
    }

    private func readStatistics(
        of snapshot: NamespaceSnapshot,
        at start: ContinuousClock.Instant
    ) async throws -> (board: StatisticsBoard, lost: [LostSummary], at: ContinuousClock.Instant) {
        let queues = snapshot.queues.map(\.queue)
        let query = StatisticsQuery(.minute, count: StatisticsBoard.minutes)
        async let lost = broker.lostWorkers(queues: queues, limit: Self.lostRows)
        var rotation = rotation
        rotation.add(try await broker.statistics(queues: rotation.next(of: queues.sorted()), query))
        self.rotation = rotation
        return (StatisticsBoard(rotation.values), try await lost, start)
    }
}
