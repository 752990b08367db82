import ExampleBasics
import Operations

/// Shows a window of its rows in a few cells. A row that appears starts an update, and a row that disappears cancels
/// it.
///
/// As the strictest case, results are delivered on any thread while the table scrolls. An app with a main thread calls
/// `deliverOnMainActor`.
final class Table {
    private struct Shown {
        let cell: Cell
        let update: ValueOperation<RowData>
    }

    /// The numbers of updates by their end.
    private struct Ends {
        var finished = 0
        var cancelled = 0
        var dead = 0

        var all: Int { finished + cancelled + dead }

        mutating func count(_ state: OperationState) {
            switch state {
            case .finished: finished += 1
            case .cancelled: cancelled += 1
            default: dead += 1
            }
        }
    }

    private let rows: Int
    private let cells: [Cell]
    private let source: RowSource
    private let isNaive: Bool
    private let queue: LocalOperationQueue
    /// At most one update per row, even if a row comes back before its cancelled update has ended.
    private let updates: KeyedOperations<Int, RowData>
    private var shown: [Int: Shown] = [:]
    private var free: [Cell]
    private var started = 0
    private var ends = Ends()
    /// The end of each update. The updates report it on any thread.
    private let reports = AsyncStream.makeStream(of: OperationState.self)

    init(rows: Int, cells: Int, updatesAtOnce: Int, source: RowSource, isNaive: Bool = false) {
        self.rows = rows
        self.source = source
        self.isNaive = isNaive
        self.cells = (0..<cells).map { _ in Cell() }
        free = self.cells
        queue = LocalOperationQueue(name: "updates", maxConcurrentOperationCount: updatesAtOnce)
        updates = KeyedOperations(queue: queue)
    }

    /// Shows the rows from `top` on.
    func scroll(toTop top: Int) {
        let window = top..<min(top + cells.count, rows)
        for row in shown.keys.sorted() where !window.contains(row) { disappear(row) }
        for row in window where shown[row] == nil { appear(row) }
    }

    private func appear(_ row: Int) {
        let cell = free.removeFirst()
        let token = cell.use(for: row)
        let update = updates.run(row) { [source] in try await source.update(row) }.operation
        started += 1
        if isNaive {
            update.onEnd { [weak update] _ in (try? update?.result?.get()).map(cell.show) }
        } else {
            update.deliver(to: token) { result in (try? result.get()).map(cell.show) }
        }
        // Hooks run in their order, so an end that is reported has been delivered.
        update.onEnd { [reports] in reports.continuation.yield($0.state) }
        shown[row] = Shown(cell: cell, update: update)
    }

    private func disappear(_ row: Int) {
        guard let gone = shown.removeValue(forKey: row) else { return }
        // The cell changes first, so that every later result comes too late.
        _ = gone.cell.use(for: nil)
        gone.update.cancel(reason: "row \(row) has disappeared")
        free.append(gone.cell)
    }

    /// Waits until all updates have ended. The last hooks may run a moment after the queue is empty.
    func waitUntilIdle() async throws {
        try await queue.waitUntilAllOperationsAreFinished()
        guard ends.all < started else { return }
        for await state in reports.stream {
            ends.count(state)
            if ends.all == started { break }
        }
    }

    /// The visible rows, with a mark for each row that has its data.
    var strip: String {
        let rows = shown.keys.sorted()
        let marks = rows.map { shown[$0]?.cell.data == nil ? "·" : "■" }.joined()
        return "rows \("\(rows.first ?? 0)–\(rows.last ?? 0)".padded(to: 9)) \(marks)"
    }

    /// Returns the claims. Call this when the table is idle.
    func report() -> Claims {
        let deliveries = cells.flatMap(\.deliveries)
        let wrong = deliveries.filter { $0.owner != $0.data.row || $0.data != RowData(row: $0.data.row) }.count
        let ready = shown.filter { $0.value.cell.data?.row == $0.key && $0.value.cell.row == $0.key }.count
        var report = Claims()
        report.claim(
            "no cell showed another row's data",
            wrong == 0,
            "\(wrong) of \(deliveries.count) deliveries wrong"
        )
        report.claim("every visible row has its data", ready == shown.count, "\(ready) of \(shown.count)")
        report.claim("every update ended", ends.finished + ends.cancelled == started, "\(started)")
        let (most, limit) = (source.mostAtOnce, queue.maxConcurrentOperationCount)
        report.claim("at most \(limit) updates at a time", most <= limit, "\(most)")
        report.note("finished in time", "\(deliveries.count - wrong)")
        report.note("cancelled", "\(ends.cancelled)")
        report.note("came too late and were turned away", "\(ends.finished - deliveries.count)")
        return report
    }

    /// The number of results that came after their row was gone. A run proves nothing if this is zero.
    var late: Int { ends.finished - cells.flatMap(\.deliveries).count }
}
