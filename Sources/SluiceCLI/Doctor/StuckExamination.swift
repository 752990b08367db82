import Operations
import SluiceMonitor
import TerminalText

extension Doctor {
    /// Minutes of figures that say how fast a queue is.
    private static let figureMinutes = 5
    /// Blocked operations that are looked at in each queue.
    private static let blockedRead = 200

    /// Finds what waits for longer than an hour, or without an end, and why.
    mutating func findStuck(_ snapshot: QueueSnapshot) async throws {
        let recent = try await broker.recentFigures(queue: snapshot.queue, minutes: Self.figureMinutes)
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

    /// The oldest ones, as far as the budget goes; the newest come first.
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

/// Whether what is ready in a queue gets its turn within an hour, if live workers serve it and it is not paused.
struct StuckExamination {
    /// Seconds that a queue may take for what is ready.
    private static let longest = 3600.0
    /// How long the oldest one waits before nothing that ends means that nothing will, in milliseconds.
    private static let patience: Int64 = 300_000
    /// How long something has run when a worker has to know of it, in milliseconds.
    private static let settled: Int64 = 30_000
    /// How far a worker's clock may be off, in milliseconds: a heartbeat takes a while.
    private static let skew: Int64 = 10_000

    let snapshot: QueueSnapshot
    let recent: RecentFigures

    var diagnosis: Diagnosis? {
        guard ready > 0, !snapshot.paused, !snapshot.liveWorkers.isEmpty else { return nil }
        return quiet ?? tooSlow ?? stalled
    }

    private var ready: Int { snapshot.counts[.ready] ?? 0 }
    private var number: String { QuantityText.grouped(ready) }

    private func finding(_ code: String, _ message: String, fix: [String]) -> Diagnosis {
        var diagnosis = Diagnosis(
            .warning,
            code,
            queue: snapshot.queue,
            snapshot.queue,
            message,
            fix: Program.command(fix)
        )
        diagnosis.weight = ready
        return diagnosis
    }

    private var quiet: Diagnosis? {
        let workers = snapshot.liveWorkers.compactMap { WorkerInfo($0.info) }
        guard let first = workers.first, workers.allSatisfy({ $0.phase != "running" }) else { return nil }
        let names = workers.prefix(3).map { "\($0.name): \($0.phase)" }.joined(separator: ", ")
        let quiet = workers.first { $0.phase == "quiet" } ?? first
        return finding(
            "workersQuiet",
            "\(number) operations are ready, and no worker takes new ones (\(names))",
            fix: quiet.phase == "quiet" ? ["workers", "resume", quiet.name] : ["worker", "-q", snapshot.queue]
        )
    }

    private var tooSlow: Diagnosis? {
        guard let (seconds, why) = time, seconds > Self.longest else { return nil }
        let shown = DurationText.short(.seconds(Int64(min(seconds, 1e12))))
        let fix =
            snapshot.limits.rate == nil && snapshot.limits.concurrency == nil
            ? ["worker", "-q", snapshot.queue] : ["queue", "show", snapshot.queue]
        return finding("slow", "\(number) operations are ready, which take \(shown) \(why)", fix: fix)
    }

    /// How long what is ready takes.
    private var time: (seconds: Double, why: String)? {
        if let rate = snapshot.limits.rate, Double(ready) / rate.perSecond > Self.longest {
            return (Double(ready) / rate.perSecond, "at the limit of the queue, \(LimitText.text(rate))")
        }
        // Later operations stand behind these.
        guard recent.outPerSecond > 0 else { return nil }
        return (Double(ready) / recent.outPerSecond, "at the pace of the last minutes")
    }

    private var stalled: Diagnosis? {
        // Long bodies end seldom.
        guard recent.outPerSecond == 0, snapshot.counts[.executing] ?? 0 == 0,
            let oldest = snapshot.oldestReadyMilliseconds, oldest > Self.patience
        else {
            return nil
        }
        let waited = DurationText.short(.milliseconds(oldest))
        return finding(
            "stalled",
            "\(number) operations are ready, the oldest for \(waited), none runs, and nothing has ended for minutes",
            fix: ["explain", "-w", "queue:\(snapshot.queue) state:ready"]
        )
    }

    static func blocked(_ count: Int, _ first: OperationDetail) -> Diagnosis {
        let many = count == 1 ? "1 blocked operation waits" : "at least \(count) blocked operations wait"
        var diagnosis = Diagnosis(
            .warning,
            "neverStarts",
            queue: first.queue,
            first.queue,
            "\(many) for what has ended otherwise than finished, or is gone; the first is \(first.id), enqueued "
                + TimeText.rfc3339(first.record.enqueuedAt),
            fix: Program.command(["explain", "\(first.id)"])
        )
        diagnosis.weight = count
        return diagnosis
    }

    /// A worker that holds more operations than it said with its last heartbeat that it runs. The others never end, and keep their places and keys.
    static func forgotten(by worker: WorkerRow, _ snapshot: QueueSnapshot) -> Diagnosis? {
        guard let info = WorkerInfo(worker.info), worker.beatAt > 0 else { return nil }
        // Operations that began shortly before the heartbeat say nothing.
        let old = snapshot.executing.filter { row in
            row.worker == worker.worker && row.startedAt.map { $0 < worker.beatAt - settled } ?? false
        }
        let missing = old.count - info.busy - (info.stuck ?? 0)
        guard missing > 0, let first = old.first else { return nil }
        let many = missing == 1 ? "1 operation" : "\(QuantityText.grouped(missing)) operations"
        var diagnosis = Diagnosis(
            .error,
            "workerForgot",
            queue: snapshot.queue,
            worker.worker,
            "worker \(info.name) on \(info.host) holds \(many) that it does not run, such as \(first.header.id)",
            fix: "end its process \(info.pid) on \(info.host): what it holds runs again elsewhere"
        )
        diagnosis.weight = missing
        return diagnosis
    }

    /// Times in its log, and when its schedules believe that they are due, are wrong by as much.
    static func clock(of worker: WorkerRow, queue: String) -> Diagnosis? {
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
                + "times in what it logs are wrong",
            fix: "set the clock of \(info.host)"
        )
    }
}
