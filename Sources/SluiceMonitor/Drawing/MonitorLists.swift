import Operations
import SluiceOperator
import TerminalText

extension MonitorView {
    /// A count. Zero is dimmed to make other counts stand out.
    func count(_ count: Int, _ role: TextRole = .plain) -> [Span] {
        [Span(QuantityText.count(count), count == 0 ? .dim : role)]
    }

    /// A duration. If it does not fit the width of its column, only its largest unit is shown.
    func duration(_ milliseconds: Int64?, width: Int = 6) -> [Span] {
        guard let milliseconds else { return [Span("–", .dim)] }
        let text = DurationText.short(.milliseconds(milliseconds))
        return [Span(text.count <= width ? text : DurationText.coarse(.milliseconds(milliseconds)))]
    }

    /// The age of the last heartbeat: below ten seconds with tenths.
    private func heartbeat(_ milliseconds: Int64?) -> [Span] {
        guard let milliseconds, milliseconds < 10_000 else { return duration(milliseconds, width: 5) }
        return [Span(DurationText.tenths(.milliseconds(milliseconds)))]
    }

    func queueList(isOverview: Bool) -> ScreenList {
        let isLimited = model.board?.queues.contains { $0.limits != QueueLimits() } ?? false
        var list = ScreenList(columns: [
            ScreenColumn("QUEUE", 9, .left, isFlexible: true), ScreenColumn("READY", 7),
            ScreenColumn("SCHED", 6, drop: 5), ScreenColumn("BLOCK", 5, drop: 8),
            isLimited ? ScreenColumn("EXEC/LIM", 8) : ScreenColumn("EXEC", 5),
            ScreenColumn("RETRY", 5, drop: 2), ScreenColumn("DEAD", 5), ScreenColumn("IN/s", 5, drop: 4),
            ScreenColumn("OUT/s", 5, drop: 3), ScreenColumn("ERR/s", 5, drop: isOverview ? 9 : 6),
            ScreenColumn("WORKERS", 7, drop: isOverview ? 10 : 7), ScreenColumn("OLDEST", 6, drop: 1),
        ])
        // The column shows when the next schedule of a queue runs.
        let hasSchedules = model.board?.queues.contains { $0.schedules.count > 0 } ?? false
        if hasSchedules { list.columns.append(ScreenColumn("NEXT RUN", 8, drop: 5)) }
        list.columns.append(ScreenColumn("STATE", 11, .left))
        list.rows = (model.board?.queues ?? []).map { queue in
            ScreenList.Row(
                cells: cells(of: queue, isLimited: isLimited, hasSchedules: hasSchedules),
                isSelected: model.selectedItem == .queue(queue.name)
            )
        }
        return list
    }

    /// - Parameter isLimited: whether any queue has a limit.
    private func cells(of queue: QueueSummary, isLimited: Bool, hasSchedules: Bool) -> [[Span]] {
        let limit = queue.limits.concurrency.map(QuantityText.count) ?? "-"
        let executing = count(queue.count(.executing), .executing) + (isLimited ? [Span("/\(limit)", .dim)] : [])
        return [
            [Span(SafeText.line(queue.name))], count(queue.count(.ready)), count(queue.count(.scheduled)),
            count(queue.count(.blocked), .warning), executing,
            count(queue.count(.retrying), .warning), count(queue.count(.dead), .dead),
            [Span(QuantityText.rate(queue.rates.enqueued))], [Span(QuantityText.rate(queue.rates.ended))],
            [Span(QuantityText.rate(queue.rates.failed))], count(queue.liveWorkers),
            duration(queue.oldestMilliseconds),
        ] + (hasSchedules ? [nextRun(of: queue)] : []) + [[Span(queue.condition.text, queue.condition.role)]]
    }

    /// The time until the next schedule of a queue runs.
    private func nextRun(of queue: QueueSummary) -> [Span] {
        guard queue.schedules.count > 0 else { return [] }
        guard let next = queue.schedules.next, let now = model.board?.time else { return [Span("–", .dim)] }
        return next - now < 1000 ? [Span("now")] : duration(next - now, width: 8)
    }

    /// - Parameter compact: for small screens, with name and progress first.
    func executingList(compact: Bool) -> ScreenList {
        let bar = size.width >= 80 ? 10 : 0
        let leastProgress = bar > 0 ? bar + 5 : compact ? 5 : 13
        var list = ScreenList(columns: [
            ScreenColumn("ID", 7, .left, drop: size.width < 40 ? 9 : 0), ScreenColumn("", 2, .left, drop: 6),
            ScreenColumn("NAME", 10, .left, isFlexible: true), ScreenColumn("QUEUE", 8, .left, drop: compact ? 8 : 4),
            ScreenColumn("WORKER", 8, .left, drop: 3, isFlexible: size.width >= 100, keepsEnd: true),
            ScreenColumn("TIME", 6),
            ScreenColumn("PROGRESS", leastProgress, .left, isFlexible: true), ScreenColumn("TRY", 4, .right, drop: 5),
        ])
        let entries = model.board?.executing ?? []
        let arguments = entries.map { $0.arguments(model.view) }
        if !compact, arguments.contains(where: { !$0.isEmpty }) {
            list.columns.append(ScreenColumn("ARGUMENTS", 9, .left, drop: 10, isFlexible: true))
        }
        let length = model.isWide ? OperationID.characterCount : ShortID.length(for: entries.map(\.id))
        list.columns[0].width = min(length + 1, OperationID.characterCount)
        list.rows = zip(entries, arguments).map { entry, arguments in
            ScreenList.Row(
                cells: cells(of: entry, idLength: length, bar: bar) + [[Span(SafeText.line(arguments))]],
                isSelected: model.selectedItem == .operation(entry.address)
            )
        }
        return list
    }

    private func cells(of entry: ExecutingSummary, idLength: Int, bar: Int) -> [[Span]] {
        let progress = ProgressText(entry)
        return [
            [Span(ShortID.text(entry.id, length: idLength, style: style))],
            [Span(style.mark(entry.row.header.priority))],
            [Span(SafeText.line(entry.row.name))], [Span(SafeText.line(entry.queue))],
            [Span(SafeText.line(entry.workerLabel))], duration(entry.runtimeMilliseconds),
            [Span(SafeText.line(progress.line(ascii: style.usesASCII, bar: bar)), progress.role)], [Span(entry.tries)],
        ]
    }

    var workerList: ScreenList {
        let someAreLost = model.board?.workers.contains { $0.isLost && $0.inFlight > 0 } ?? false
        var list = ScreenList(columns: [
            ScreenColumn("WORKER", 9, .left, isFlexible: true, keepsEnd: true),
            ScreenColumn("HOST", 6, .left, drop: 5, isFlexible: true),
            ScreenColumn("PID", 7, drop: 9), ScreenColumn("QUEUES", 9, .left, drop: 4, isFlexible: true),
            ScreenColumn("SLOTS", 5), ScreenColumn("BUSY", 4), ScreenColumn("DONE", 7, drop: 2),
            ScreenColumn("FAIL", 5, drop: 3), ScreenColumn("RSS", 5, drop: 7), ScreenColumn("UP", 6, drop: 6),
            ScreenColumn("BEAT", 5, drop: 1), ScreenColumn("STATE", someAreLost ? 18 : 9, .left, isFlexible: true),
        ])
        list.rows = (model.board?.workers ?? []).map { worker in
            ScreenList.Row(cells: cells(of: worker), isSelected: model.selectedItem == .worker(worker.id))
        }
        return list
    }

    private func cells(of worker: WorkerSummary) -> [[Span]] {
        let info = worker.info
        let unknown = [Span("–", .dim)]
        let up = info.flatMap { info in model.board?.time.map { max(0, $0 - info.startedAt) } }
        let state = worker.isLost && worker.inFlight > 0 ? "LOST, \(worker.inFlight) to recover" : worker.phaseText
        return [
            [Span(SafeText.line(worker.label))], info.map { [Span(SafeText.line($0.host))] } ?? unknown,
            info.map { [Span("\($0.pid)")] } ?? unknown,
            [Span(SafeText.line(worker.servedQueues.joined(separator: ",")))],
            info.map { count($0.slots) } ?? unknown, count(worker.inFlight, .executing),
            info.map { count(Int(clamping: $0.finished)) } ?? unknown,
            info.map { count(Int(clamping: $0.failed), .warning) } ?? unknown,
            info.map { [Span($0.residentBytes > 0 ? QuantityText.bytes($0.residentBytes) : "–")] } ?? unknown,
            duration(up),
            heartbeat(worker.beatAgeMilliseconds),
            [Span(SafeText.line(state), worker.isLost ? .dead : .plain)],
        ]
    }

    var lostList: ScreenList {
        var list = ScreenList(columns: [
            ScreenColumn("WORKER", 9, .left, isFlexible: true, keepsEnd: true),
            ScreenColumn("HOST", 6, .left, drop: 2, isFlexible: true),
            ScreenColumn("QUEUES", 9, .left, drop: 1, isFlexible: true), ScreenColumn("LOST", 10, .left),
            ScreenColumn("ITS OPERATIONS", 14, .left, isFlexible: true),
        ])
        list.rows = model.lost.map { worker in
            let age = TimeText.relative(worker.lostAt, now: model.board?.time ?? worker.lostAt)
            return ScreenList.Row(cells: [
                [Span(SafeText.line(worker.label))], [Span(SafeText.line(worker.info?.host ?? "–"))],
                [Span(SafeText.line(worker.queues.joined(separator: ",")))], [Span(age)],
                [Span(worker.fate, worker.dead > 0 ? .dead : .plain)],
            ])
        }
        return list
    }
}
