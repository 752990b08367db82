import Operations
import Sluice
import TerminalText

/// A change of operations: of those that are named, or of all that a query finds.
struct Change: Sendable {
    let invocation: Invocation
    let client: SluiceClient
    /// `cancel`
    let verb: String
    /// `cancelled`
    let participle: String
    /// A query finds only what has a record.
    let needsRecord: Bool
    /// Changes operations of a queue, at most 500, and says what became of each.
    let apply: @Sendable ([OperationID], String) async throws -> [TargetReport.Row]
    /// What becomes of a reference that leads to no operation; nil = it is unknown.
    var applyToMissing: @Sendable (IDReference) async throws -> TargetReport.Row? = { _ in nil }
    /// Waits for those whose change is under way, since an instant; nil = there is no need to.
    var wait: (@Sendable ([TargetReport.Row], ContinuousClock.Instant) async throws -> [TargetReport.Row])?

    /// Rows of which the change is under way wait for it.
    private func isUnderWay(_ row: TargetReport.Row) -> Bool { wait != nil && row.outcome == "requested" }
}

// MARK: - Those that are named

extension Change {
    func run(_ references: [IDReference]) async throws -> ExitStatus {
        let begun = ContinuousClock.now
        let findings = try await Locator(client).find(references)
        let interruption = Interruption()
        return try await reported(since: begun, interruption) { add in
            var rest = Array(zip(references, findings))[...]
            while !rest.isEmpty {
                if let status = interruption.received.status { return interrupted(status) }
                try await add(try await rows(rest.prefix(Defaults.batch)))
                rest = rest.dropFirst(Defaults.batch)
            }
            return nil
        }
    }

    /// In the order of the references.
    private func rows(_ targets: ArraySlice<(IDReference, Locator.Finding)>) async throws -> [TargetReport.Row] {
        var changed: [Location: TargetReport.Row] = [:]
        let places = targets.compactMap { if case .found(let place) = $0.1 { place } else { nil } }
        for (queue, places) in Dictionary(grouping: Set(places), by: \.queue).sorted(by: { $0.key < $1.key }) {
            let ids = places.map(\.id)
            for (id, row) in zip(ids, try await apply(ids, queue)) { changed[Location(queue: queue, id: id)] = row }
        }
        var rows: [TargetReport.Row] = []
        for (reference, finding) in targets {
            if case .found(let place) = finding, var row = changed[place] {
                row.reference = reference.shown
                rows.append(row)
            } else if finding == .notFound, let row = try await applyToMissing(reference) {
                rows.append(row)
            } else if let row = TargetReport.Row(finding, of: reference) {
                rows.append(row)
            }
        }
        return rows
    }
}

// MARK: - All that a query finds

extension Change {
    /// - Parameter states: those that count where the query names none.
    func run(_ selection: Selection, in states: [OperationState], isConfirmed: Bool) async throws -> ExitStatus {
        let query = try await selection.query(in: states, client)
        let walk = try await ChangeWalk(
            client: client,
            query: query,
            needsRecord: needsRecord,
            scanLimit: selection.scanLimit
        )
        if !isConfirmed {
            let count = try await walk.count().found
            if count > 0 {
                let many = "\(QuantityText.grouped(count)) operations"
                try invocation.confirm("\(verb) \(many)?", count: count, isConfirmed: false)
            }
        }
        let begun = ContinuousClock.now
        let interruption = Interruption()
        let received = interruption.received
        return try await reported(since: begun, interruption) { add in
            let result = try await walk.stopping { received.status != nil }.run { queue, ids in
                try await add(try await apply(ids, queue))
            }
            if result.isStopped, let status = received.status { return interrupted(status) }
            return result.isCutShort ? cutShort(result, selection.scanLimit ?? 0) : nil
        } summary: { summary in
            let outcomes = summary.total == 0 ? "" : "; \(summary.text)"
            invocation.console.note("\(QuantityText.grouped(summary.total)) match\(outcomes)")
        }
    }

    private func cutShort(_ result: ChangeWalk.Result, _ limit: Int) -> CLIError {
        CLIError(
            .partly,
            "stopped after \(QuantityText.grouped(result.scanned)) operations that were looked at; there are more",
            notes: ["from: --scan-limit \(limit)"],
            fix: "drop --scan-limit, which covers all"
        )
    }
}

// MARK: - Both

extension Change {
    private func interrupted(_ status: ExitStatus) -> CLIError {
        CLIError(status, "interrupted; what is not listed is unchanged", fix: Program.command(invocation.arguments))
    }

    /// Runs the body, which hands over rows as they become known, and reports them, also if it fails in the middle.
    ///
    /// - Parameter body: returns why not all of it was done; nil = all of it was.
    private func reported(
        since begun: ContinuousClock.Instant,
        _ interruption: Interruption,
        _ body: ((_ add: ([TargetReport.Row]) async throws -> Void) async throws -> CLIError?),
        summary: (TargetSummary) -> Void = { _ in }
    ) async throws -> ExitStatus {
        var report = ChangeReport(invocation, participle: participle, namespace: client.namespace)
        var underWay: [TargetReport.Row] = []
        var early: CLIError?
        do {
            early = try await body { rows in
                underWay += rows.filter(isUnderWay)
                report.add(rows.filter { !isUnderWay($0) })
                let done = QuantityText.grouped(report.summary.doneCount + underWay.count)
                invocation.console.showStatus("\(done) \(participle)")
            }
            if early == nil || early?.status == .partly, !underWay.isEmpty, let wait {
                let rows = underWay
                let waiting = Task { try await wait(rows, begun) }
                interruption.received.whenReceived { waiting.cancel() }
                underWay = try await waiting.value
            }
        } catch {
            if report.summary.total + underWay.count == 0 { throw error }
            let status = interruption.received.status
            early = status.map { interrupted($0) } ?? ErrorTranslation.report(error, settings: invocation.settings)
        }
        report.add(underWay)
        let text = report.summary.text
        early?.notes.insert(text.isEmpty ? "nothing was \(participle)" : "until then: \(text)", at: 0)
        summary(report.summary)
        let status = report.finish(early: early)
        withExtendedLifetime(interruption) {}
        return status
    }
}
