import Operations
import SluiceOperator
import TerminalText

/// Reads a namespace at a fixed interval, for output in lines: `stat`, and `monitor` without a terminal.
package struct SnapshotStream: Sendable {
    private let inspection: any MonitorBroker
    private let interval: Duration
    private let executingRows: Int

    package init(_ inspection: any MonitorBroker, interval: Duration, executingRows: Int = 0) {
        self.inspection = inspection
        self.interval = interval
        self.executingRows = executingRows
    }

    /// Runs until `body` returns false or the task is cancelled.
    ///
    /// - Parameters:
    ///   - note: called with a sentence when reads begin to fail, and when they succeed again.
    ///   - body: called with each round; true = continue.
    /// - Throws: the error of the first read. Later failures are outages: reading continues after them.
    package func run(
        note: (String) -> Void,
        _ body: (NamespaceSnapshot, Rates) -> Bool
    ) async throws {
        let origin = ContinuousClock.now
        var rates = NamespaceRates()
        var isFirst = true
        var isFailing = false
        var absent: [String] = []
        var refusals: [String] = []
        var due = origin
        while !Task.isCancelled {
            do {
                let snapshot = try await inspection.namespaceSnapshot(executingRows: executingRows) {
                    ContinuousClock.now - origin
                }
                if isFailing { note("Redis answers again") }
                (isFirst, isFailing) = (false, false)
                let now = snapshot.absent.map(\.node)
                for node in snapshot.absent where !absent.contains(node.node) { note(node.sentence) }
                for node in absent where !now.contains(node) { note("node \(node) of the cluster answers again") }
                absent = now
                let refused = snapshot.refusals.map(\.sentence)
                for sentence in refused where !refusals.contains(sentence) { note(SafeText.line(sentence)) }
                if refused.isEmpty, !refusals.isEmpty { note("Redis takes writes again") }
                refusals = refused
                rates.add(snapshot)
                guard body(snapshot, rates.sum) else { return }
            } catch  where !isFirst && !(error is CancellationError) {
                if !isFailing { note("Redis cannot be read: \(SafeText.line("\(error)"))") }
                isFailing = true
            }
            // The next round keeps the interval. Missed rounds are skipped.
            due = max(due + interval, ContinuousClock.now)
            try await Task.sleep(until: due, clock: .continuous)
        }
    }
}

/// Running operations as plain lines: the live view without a terminal.
package enum ProgressLines {
    /// The counters, and a line for each running operation.
    ///
    /// - Parameter view: how to show arguments; nil = do not show them.
    package static func lines(
        _ snapshot: NamespaceSnapshot,
        rates: Rates,
        style: Style,
        view: PayloadView? = nil
    ) -> [String] {
        let workers = WorkerSummary.merge(snapshot.queues)
        let executing = ExecutingSummary.merge(snapshot.queues, workers: workers)
        let table = SnapshotText.table(executing, style: style, view: view)
        return [StatLine(snapshot, rates: rates).text]
            + table.lines(for: .plain, style: style, showsHeader: false).map { "  " + $0 }
    }
}
