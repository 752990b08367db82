import Operations
import TerminalText

/// Reads a namespace in a fixed rhythm, for output in lines: `stat`, and `monitor` without a terminal.
package struct SnapshotStream: Sendable {
    private let inspection: any MonitorBroker
    private let interval: Duration
    private let executingRows: Int

    package init(_ inspection: any MonitorBroker, interval: Duration, executingRows: Int = 0) {
        self.inspection = inspection
        self.interval = interval
        self.executingRows = executingRows
    }

    /// Runs until `body` says so or the task is cancelled.
    ///
    /// - Parameters:
    ///   - note: gets a sentence when reads begin to fail, and when they go on.
    ///   - body: gets each round; true = go on.
    /// - Throws: what the first read throws. Later failures are outages to be sat out.
    package func run(
        note: (String) -> Void,
        _ body: (NamespaceSnapshot, Rates) -> Bool
    ) async throws {
        let origin = ContinuousClock.now
        var rates = NamespaceRates()
        var isFirst = true
        var isFailing = false
        var absent: [String] = []
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
                rates.add(snapshot)
                guard body(snapshot, rates.sum) else { return }
            } catch  where !isFirst && !(error is CancellationError) {
                if !isFailing { note("no numbers: \(SafeText.line("\(error)"))") }
                isFailing = true
            }
            // The next turn keeps the rhythm; turns that were missed are left out.
            due = max(due + interval, ContinuousClock.now)
            try await Task.sleep(until: due, clock: .continuous)
        }
    }
}

/// What runs, as plain lines: the live view where the screen cannot be used.
package enum ProgressLines {
    /// The counters, and a line for each running operation.
    ///
    /// - Parameter view: with what arguments are shown; nil = they are not.
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
