import Operations
import TerminalText

extension Doctor {
    /// The number of recent minutes whose statistics give the speed of a queue.
    private static let statisticsMinutes = 5
    /// The number of blocked operations to examine in each queue.
    private static let blockedRead = 200

    /// Finds operations that wait longer than an hour or forever, and the reason.
    package mutating func findStuck(_ snapshot: QueueSnapshot) async throws {
        let recent = try await broker.recentStatistics(queue: snapshot.queue, minutes: Self.statisticsMinutes)
        if let diagnosis = StuckExamination(snapshot: snapshot, recent: recent).diagnosis { chart.add(diagnosis) }
        for worker in snapshot.liveWorkers {
            if let diagnosis = StuckExamination.clock(of: worker, queue: snapshot.queue) { chart.add(diagnosis) }
            if let diagnosis = StuckExamination.forgotten(by: worker, snapshot) { chart.add(diagnosis) }
        }
        guard snapshot.counts[.blocked] ?? 0 > 0 else { return }
        let stuck = try await blocked(snapshot.queue).filter {
            $0.links.needs.contains(where: \.isStuck) && $0.hold == nil
        }
        if let first = stuck.last { chart.add(StuckExamination.blocked(stuck.count, first)) }
    }

    /// The oldest blocked operations within the budget, newest first.
    private func blocked(_ queue: String) async throws -> [OperationDetail] {
        var oldest: [OperationDetail] = []
        var (cursor, read) = (String?.none, 0)
        repeat {
            let page = try await broker.page(state: .blocked, queue: queue, cursor: cursor, limit: Self.blockedRead)
            oldest = (oldest + page.operations).suffix(Self.blockedRead)
            cursor = page.cursor
            read += page.operations.count
        } while cursor != nil && read < budget.entries
        return oldest
    }
}

/// Whether the ready operations of a queue get their turn within an hour. Applies to a queue that has live workers and
/// is not paused.
package struct StuckExamination {
    /// The longest time in seconds that the ready operations may take.
    private static let longest = 3600.0
    /// The age in milliseconds from which the oldest ready operation counts as stalled if nothing ends.
    private static let patience: Int64 = 300_000
    /// The run time in milliseconds after which a worker must report an operation as running.
    private static let settled: Int64 = 30_000
    /// The largest accepted error of a worker's clock, in milliseconds. The delay of a heartbeat is part of it.
    private static let skew: Int64 = 10_000

    package let snapshot: QueueSnapshot
    package let recent: RecentStatistics

    package var diagnosis: Diagnosis? {
        guard ready > 0, !snapshot.paused, !snapshot.liveWorkers.isEmpty else { return nil }
        return quiet ?? tooSlow ?? stalled
    }

    private var ready: Int { snapshot.counts[.ready] ?? 0 }
    private var areReady: String { QuantityText.operationsAre(ready) + " ready" }

    private func finding(_ code: String, _ message: String, fix: [String]? = nil, remedy: Remedy? = nil) -> Diagnosis {
        Diagnosis(.warning, code, queue: snapshot.queue, snapshot.queue, message, fix: fix.map { Program.command($0) })
            .about(
                .queue(snapshot.queue),
                .operations(queue: snapshot.queue, state: .ready),
                remedy: remedy,
                weight: ready
            )
    }

    private var start: Remedy { .startWorker(queue: snapshot.queue, handler: nil) }

    private var quiet: Diagnosis? {
        let workers = snapshot.liveWorkers.compactMap { row in WorkerInfo(row.info).map { (id: row.worker, info: $0) } }
        guard !workers.isEmpty, !workers.contains(where: { $0.info.takesWork }) else { return nil }
        let names = workers.prefix(3).map { "\($0.info.name): \($0.info.phase)" }.joined(separator: ", ")
        let quiet = workers.first { $0.info.phase == "quiet" }
        return finding(
            "workersQuiet",
            "\(areReady), and no worker takes new ones (\(names))",
            remedy: quiet.map { .resumeWorker(Remedy.LabeledWorker(id: $0.id, info: $0.info)) } ?? start
        )
    }

    private var tooSlow: Diagnosis? {
        guard let (seconds, why) = time, seconds > Self.longest else { return nil }
        let shown = DurationText.short(.seconds(Int64(min(seconds, 1e12))))
        let isLimited = snapshot.limits.rate != nil || snapshot.limits.concurrency != nil
        return finding(
            "slow",
            "\(areReady), which \(ready == 1 ? "takes" : "take") \(shown) \(why)",
            fix: isLimited ? ["queue", "show", snapshot.queue] : nil,
            remedy: isLimited ? nil : start
        )
    }

    /// The expected time for all ready operations, and the basis of that estimate.
    private var time: (seconds: Double, why: String)? {
        if let rate = snapshot.limits.rate, Double(ready) / rate.perSecond > Self.longest {
            return (Double(ready) / rate.perSecond, "at the limit of the queue, \(LimitText.text(rate))")
        }
        // All ready operations count, since later ones have to wait for them.
        guard recent.outPerSecond > 0 else { return nil }
        return (Double(ready) / recent.outPerSecond, "at the pace of the last minutes")
    }

    private var stalled: Diagnosis? {
        // A queue with long bodies can run for minutes without an end.
        guard recent.outPerSecond == 0, snapshot.counts[.executing] ?? 0 == 0,
            let oldest = snapshot.oldestReadyMilliseconds, oldest > Self.patience
        else {
            return nil
        }
        let waited = DurationText.short(.milliseconds(oldest))
        return finding(
            "stalled",
            "\(areReady), the oldest for \(waited), none runs, and nothing has ended for minutes",
            fix: ["explain", "-w", "queue:\(snapshot.queue) state:ready"]
        )
    }

    package static func blocked(_ count: Int, _ first: OperationDetail) -> Diagnosis {
        let many =
            count == 1
            ? "1 blocked operation depends on one that did not finish or no longer exists"
            : "at least \(count) blocked operations depend on operations that did not finish or no longer exist"
        return Diagnosis(
            .warning,
            "neverStarts",
            queue: first.queue,
            first.queue,
            "\(many); the oldest is \(first.id), enqueued \(TimeText.rfc3339(first.record.enqueuedAt))"
        ).about(
            .operation(OperationAddress(queue: first.queue, id: first.id)),
            .operations(queue: first.queue, state: .blocked),
            remedy: .explain(DependencyName(first.id)),
            weight: count
        )
    }

    /// Finds a worker that holds more operations than its last heartbeat reported as running. The missing operations
    /// never end, and keep their places and keys.
    package static func forgotten(by worker: WorkerRow, _ snapshot: QueueSnapshot) -> Diagnosis? {
        guard let info = WorkerInfo(worker.info), worker.beatAt > 0 else { return nil }
        // An operation that began shortly before the heartbeat may be missing from it.
        let old = snapshot.executing.filter { row in
            row.worker == worker.worker && row.startedAt.map { $0 < worker.beatAt - settled } ?? false
        }
        let missing = old.count - info.busy - (info.stuck ?? 0)
        guard missing > 0, let first = old.first else { return nil }
        let many = missing == 1 ? "1 operation" : "\(QuantityText.grouped(missing)) operations"
        let holder = Remedy.LabeledWorker(id: worker.worker, info: info)
        return Diagnosis(
            .error,
            "workerForgot",
            queue: snapshot.queue,
            worker.worker,
            "worker \(info.name) on \(info.host) holds \(many) that it does not run, such as \(first.header.id)",
            fix: "end its process \(info.pid) on \(info.host): other workers then run its operations again"
        ).about(.worker(holder), .held(by: holder), .queue(snapshot.queue), weight: missing)
    }

    /// Finds a worker with a wrong clock. Times in its log, and the times at which its schedules seem due, are wrong by
    /// the same amount.
    package static func clock(of worker: WorkerRow, queue: String) -> Diagnosis? {
        guard let info = WorkerInfo(worker.info), let clock = info.clock, worker.beatAt > 0 else { return nil }
        let ahead = clock - worker.beatAt
        guard abs(ahead) > skew else { return nil }
        let much = DurationText.short(.milliseconds(abs(ahead)))
        return Diagnosis(
            .warning,
            "workerClock",
            queue: queue,
            worker.worker,
            "the clock of worker \(info.name) on \(info.host) is \(much) \(ahead > 0 ? "ahead of" : "behind") that of Redis: "
                + "the times in its log are wrong",
            fix: "set the clock of \(info.host)"
        ).about(.worker(Remedy.LabeledWorker(id: worker.worker, info: info)))
    }
}
