import Operations
import SluiceOperator
import TerminalText

/// A namespace as plain text, for `monitor` without a terminal and for the tables of `stats`.
package enum SnapshotText {
    /// - Parameters:
    ///   - snapshot: the namespace.
    ///   - title: the first line: namespace and place.
    ///   - target: the width; `.plain` cuts nothing.
    ///   - view: how to show arguments; nil = do not show them.
    /// - Returns: the lines, safe to print.
    package static func lines(
        _ snapshot: NamespaceSnapshot,
        title: String,
        target: TableTarget,
        style: Style,
        view: PayloadView? = nil
    ) -> [String] {
        let workers = WorkerSummary.merge(snapshot.queues)
        var lines = [heading(snapshot, title: title), counts(snapshot, workers: workers)]
        if !snapshot.queues.isEmpty {
            lines += [""] + queues(snapshot.queues).lines(for: target, style: style)
            lines += snapshot.queues.flatMap(unhandled)
        }
        let executing = ExecutingSummary.merge(snapshot.queues, workers: workers)
        if !executing.isEmpty {
            lines += [""] + table(executing, style: style, view: view).lines(for: target, style: style)
        }
        if !workers.isEmpty { lines += [""] + table(workers).lines(for: target, style: style) }
        return lines
    }

    /// Lines about operations that wait for a worker that handles their name.
    private static func unhandled(_ snapshot: QueueSnapshot) -> [String] {
        let notes = snapshot.unhandledNotes
        let others = snapshot.unhandledNames - notes.count
        let lines = notes.map { SafeText.line($0.text) }
        return others > 0
            ? lines + ["unhandled: \(others) other names in queue \(SafeText.line(snapshot.queue))"] : lines
    }

    private static func heading(_ snapshot: NamespaceSnapshot, title: String) -> String {
        SafeText.line(title) + (snapshot.time.map { "  " + TimeText.rfc3339($0) } ?? "")
    }

    /// `ready 1,204  scheduled 88 …  3 workers`
    private static func counts(_ snapshot: NamespaceSnapshot, workers: [WorkerSummary]) -> String {
        guard !snapshot.queues.isEmpty else { return "no queues yet" }
        let counts = snapshot.counts
        let order: [OperationState] = [
            .ready, .scheduled, .blocked, .executing, .retrying, .finished, .dead, .cancelled, .expired,
        ]
        let parts = order.map { "\($0.rawValue) \(QuantityText.grouped(counts[$0] ?? 0))" }
        let live = workers.filter { !$0.isLost }
        let slots = live.reduce(0) { $0 + ($1.info?.slots ?? 0) }
        let schedules = snapshot.queues.reduce(0) { $0 + $1.schedules.count }
        let scheduled = schedules > 0 ? "  schedules \(QuantityText.grouped(Int64(schedules)))" : ""
        return parts.joined(separator: "  ") + scheduled + "  workers \(live.count)  slots \(slots)"
    }
}

// MARK: - Tables

extension SnapshotText {
    /// One row for each queue.
    package static func queues(_ snapshots: [QueueSnapshot]) -> Table {
        var table = Table([
            TableColumn("QUEUE", minimumWidth: 12), TableColumn("READY", alignment: .right),
            TableColumn("SCHEDULED", alignment: .right, dropPriority: 3),
            TableColumn("BLOCKED", alignment: .right, dropPriority: 3), TableColumn("EXECUTING", alignment: .right),
            TableColumn("RETRYING", alignment: .right, dropPriority: 1),
            TableColumn("FINISHED", alignment: .right, dropPriority: 4),
            TableColumn("DEAD", alignment: .right), TableColumn("CANCELLED", alignment: .right, dropPriority: 5),
            TableColumn("EXPIRED", alignment: .right, dropPriority: 6),
            TableColumn("OLDEST", alignment: .right, dropPriority: 2), TableColumn("STATE", minimumWidth: 10),
        ])
        for snapshot in snapshots {
            let shown: [OperationState] = [
                .ready, .scheduled, .blocked, .executing, .retrying, .finished, .dead, .cancelled, .expired,
            ]
            let counts = shown.map { state in
                let limit =
                    state == .executing ? snapshot.limits.concurrency.map { "/" + QuantityText.grouped($0) } : nil
                return TableCell(QuantityText.grouped(snapshot.counts[state] ?? 0) + (limit ?? ""))
            }
            let oldest = snapshot.oldestReadyMilliseconds.map { DurationText.short(.milliseconds($0)) }
            let condition = QueueCondition(snapshot)
            table.append(
                [TableCell(snapshot.queue)] + counts + [
                    TableCell(oldest ?? "-"), TableCell(condition.text, condition.role),
                ]
            )
        }
        return table
    }

    /// One row for each running operation.
    ///
    /// - Parameter view: how to show arguments; nil = do not show them.
    package static func table(_ executing: [ExecutingSummary], style: Style, view: PayloadView? = nil) -> Table {
        var table = Table([
            TableColumn("EXECUTING"), TableColumn("NAME", minimumWidth: 8),
            TableColumn("QUEUE", dropPriority: 2), TableColumn("WORKER", dropPriority: 3),
            TableColumn("TRY", dropPriority: 4), TableColumn("TIME", alignment: .right, dropPriority: 1),
            TableColumn("PROGRESS", minimumWidth: 16),
        ])
        let length = ShortID.length(for: executing.map(\.id))
        let arguments = executing.map { entry in view.map { entry.arguments($0) } ?? "" }
        if !arguments.allSatisfy(\.isEmpty) { table.columns.append(TableColumn("ARGUMENTS", minimumWidth: 9)) }
        for (entry, arguments) in zip(executing, arguments) {
            let time = entry.runtimeMilliseconds.map { DurationText.short(.milliseconds($0)) } ?? "-"
            let progress = ProgressText(entry)
            table.append([
                TableCell(ShortID.text(entry.id, length: length, style: style)), TableCell(entry.row.name),
                TableCell(entry.queue), TableCell(entry.workerLabel), TableCell(entry.tries), TableCell(time),
                TableCell(progress.line(ascii: style.usesASCII), progress.role), TableCell(arguments),
            ])
        }
        return table
    }

    /// One row for each worker.
    ///
    /// - Parameter isComplete: whether the builds have a column even if no worker reports one.
    package static func table(_ workers: [WorkerSummary], isComplete: Bool = false) -> Table {
        var table = Table([
            TableColumn("WORKER", minimumWidth: 10), TableColumn("HOST", dropPriority: 3),
            TableColumn("QUEUES", dropPriority: 1),
            TableColumn("SLOTS", alignment: .right), TableColumn("BUSY", alignment: .right),
            TableColumn("DONE", alignment: .right, dropPriority: 2),
            TableColumn("FAILED", alignment: .right, dropPriority: 2),
            TableColumn("CANCELLED", alignment: .right, dropPriority: 5),
            TableColumn("BEAT", alignment: .right, dropPriority: 4), TableColumn("STATE", minimumWidth: 8),
        ])
        let hasBuilds = isComplete || workers.contains { $0.info?.build != nil }
        if hasBuilds { table.columns.append(TableColumn("BUILD", dropPriority: 6)) }
        for worker in workers {
            let info = worker.info
            let build = hasBuilds ? [TableCell(info?.build ?? "-")] : []
            table.append(
                [
                    TableCell(worker.label), TableCell(info?.host ?? "-"),
                    TableCell(worker.servedQueues.joined(separator: ",")),
                    TableCell(info.map { "\($0.slots)" } ?? "-"), TableCell("\(worker.inFlight)"),
                    TableCell(info.map { QuantityText.grouped($0.finished) } ?? "-"),
                    TableCell(info.map { QuantityText.grouped($0.failed) } ?? "-"),
                    TableCell(info.map { QuantityText.grouped($0.cancelled) } ?? "-"),
                    TableCell(worker.beatAgeMilliseconds.map { DurationText.tenths(.milliseconds($0)) } ?? "-"),
                    TableCell(worker.phaseText, worker.isLost ? .dead : .plain),
                ] + build
            )
        }
        return table
    }

    /// One row for each lost worker.
    ///
    /// - Parameter time: formats a time.
    package static func table(_ lost: [LostSummary], time: (Int64) -> String) -> Table {
        var table = Table([
            TableColumn("LOST WORKER"), TableColumn("HOST", dropPriority: 3), TableColumn("QUEUES", dropPriority: 1),
            TableColumn("LOST"), TableColumn("RECOVERED", alignment: .right), TableColumn("DEAD", alignment: .right),
            TableColumn("CANCELLED", alignment: .right),
        ])
        for worker in lost {
            table.append([
                TableCell(worker.label), TableCell(worker.info?.host ?? "-"),
                TableCell(worker.queues.joined(separator: ",")), TableCell(time(worker.lostAt)),
                TableCell(QuantityText.grouped(worker.recovered)),
                TableCell(QuantityText.grouped(worker.dead), worker.dead > 0 ? .dead : .plain),
                TableCell(QuantityText.grouped(worker.cancelled)),
            ])
        }
        return table
    }
}
