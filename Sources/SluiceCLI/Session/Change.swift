import Operations
import Sluice
import SluiceMonitor
import SluiceOperator
import TerminalText

/// A change of named operations, or of all operations that a query finds.
struct Change: Sendable {
    let invocation: Invocation
    let client: SluiceClient
    /// `cancel`
    let verb: String
    /// `cancelled`
    let participle: String
    /// The states in which an operation can be changed. In other states the change is refused.
    let allowed: Set<OperationState>
    /// Whether a query finds only operations with a record.
    let needsRecord: Bool
    /// Changes up to 500 operations of a queue, and returns the outcome of each.
    let apply: @Sendable ([OperationID], String, Spread?) async throws -> [OperationOutcome]
    /// The time over which the changed operations start evenly; nil = now.
    var spread: Duration?
    /// Applies the change to a reference without a record; nil = the operation is unknown.
    var applyToMissing: @Sendable (IDReference) async throws -> OperationOutcome? = { _ in nil }
    /// Whether named operations are changed in the order of the references, across queues.
    var keepsOrder = false
    /// Called before the operations of a query are changed. The query then searches again.
    var prepare: (@Sendable () async throws -> Void)?
    /// Waits for operations with a requested change; nil = do not wait. The second parameter is the start of the wait.
    var wait: (@Sendable ([OperationOutcome], ContinuousClock.Instant) async throws -> [OperationOutcome])?

    /// Whether the change of a row is requested but not done yet.
    private func isUnderWay(_ row: OperationOutcome) -> Bool {
        wait != nil && ["requested", "forced"].contains(row.name)
    }
}

// MARK: - Named operations

extension Change {
    func run(_ references: [IDReference], _ consent: Consent) async throws -> ExitStatus {
        if consent.dryRun {
            let details = try await Locator(client).details(references)
            let meant = details.filter { allowed.contains($0.state) }
            let preview = ChangePreview(
                participle: participle,
                matches: meant.count,
                refused: details.count - meant.count,
                sample: Array(meant.prefix(ChangePreview.sampleSize))
            )
            invocation.print(preview)
            return .done
        }
        let many = references.count == 1 ? references[0].shown : "\(references.count) operations"
        try invocation.confirmIfAlways("\(verb) \(many)", count: references.count)
        let begun = ContinuousClock.now
        let findings = try await Locator(client).find(references)
        let interruption = Interruption()
        let spread = spread.map { Spread($0, count: references.count) }
        return try await reported(since: begun, interruption) { add in
            var rest = Array(zip(references, findings))[...]
            while !rest.isEmpty {
                if let status = interruption.received.status { return interrupted(status) }
                try await add(try await rows(rest.prefix(SluiceDefaults.batch), spread))
                rest = rest.dropFirst(SluiceDefaults.batch)
                let done = QuantityText.grouped(references.count - rest.count)
                invocation.console.showStatus("\(done) of \(QuantityText.grouped(references.count))")
            }
            return nil
        }
    }

    /// The ids of each call, each id once. Ids of one queue form a call; if the order counts, only adjacent ids of one
    /// queue do.
    static func calls(_ places: [OperationAddress], inOrder: Bool) -> [(queue: String, ids: [OperationID])] {
        var seen: Set<OperationAddress> = []
        var calls: [(queue: String, ids: [OperationID])] = []
        for place in places where seen.insert(place).inserted {
            let known = inOrder ? calls.indices.last : calls.firstIndex { $0.queue == place.queue }
            if let known, calls[known].queue == place.queue {
                calls[known].ids.append(place.id)
            } else {
                calls.append((place.queue, [place.id]))
            }
        }
        return calls
    }

    /// Returns the rows, in the order of the references.
    private func rows(
        _ targets: ArraySlice<(IDReference, Locator.Finding)>,
        _ spread: Spread?
    ) async throws -> [OperationOutcome] {
        var changed: [OperationAddress: OperationOutcome] = [:]
        let places = targets.compactMap { if case .found(let place) = $0.1 { place } else { nil } }
        for (queue, ids) in Self.calls(places, inOrder: keepsOrder) {
            for (id, row) in zip(ids, try await apply(ids, queue, spread)) {
                changed[OperationAddress(queue: queue, id: id)] = row
            }
        }
        var rows: [OperationOutcome] = []
        for (reference, finding) in targets {
            if case .found(let place) = finding, var row = changed[place] {
                row.reference = reference.shown
                rows.append(row)
            } else if finding == .notFound, let row = try await applyToMissing(reference) {
                rows.append(row)
            } else if let row = OperationOutcome(finding, of: reference) {
                rows.append(row)
            }
        }
        return rows
    }
}

// MARK: - Operations of a query

extension Change {
    /// Changes the operations that a query finds.
    ///
    /// - Parameter states: the states to search if the query names no state.
    func run(_ selection: Selection, in states: [OperationState], _ consent: Consent) async throws -> ExitStatus {
        let query = try await selection.query(in: states, client)
        let walk = try await ChangeWalk(
            broker: client.broker,
            query: query,
            view: invocation.view,
            needsRecord: needsRecord
        )
        walk.unknownQueues.forEach(invocation.console.warn)
        if consent.dryRun {
            let (result, sample) = try await preview(walk)
            let preview = ChangePreview(
                participle: participle,
                matches: result.found - result.refused,
                refused: result.refused,
                coverage: walk.coverage(of: result),
                sample: sample
            )
            invocation.print(preview)
            return .done
        }
        var spread: Spread?
        if !invocation.options.assumesYes || self.spread != nil {
            let count = try await preview(walk).result.found
            if count > 0 {
                let many = "\(QuantityText.grouped(count)) operations"
                try invocation.confirm("\(verb) \(many)?", count: count)
            }
            spread = self.spread.map { Spread($0, count: count) }
        }
        guard let prepare else { return try await run(walk, spread) }
        try await prepare()
        // A new walk also finds operations that were enqueued after the first walk was made, and claimed before
        // `prepare` took effect.
        let later = try await ChangeWalk(
            broker: client.broker,
            query: query,
            view: invocation.view,
            needsRecord: needsRecord
        )
        return try await run(later, spread)
    }

    private func run(_ walk: ChangeWalk, _ spread: Spread?) async throws -> ExitStatus {
        let interruption = Interruption()
        let received = interruption.received
        var covered: Coverage?
        return try await reported(since: .now, interruption) { add in
            let progress = WalkProgress(invocation.console)
            let watched = walk.stopping { result in
                progress.show(result, of: walk)
                return received.status != nil
            }
            let result = try await watched.run { queue, ids in
                try await add(try await apply(ids, queue, spread))
            }
            covered = walk.coverage(of: result)
            guard result.isStopped, let status = received.status else { return nil }
            return interrupted(status)
        } summary: { summary in
            let outcomes = summary.total == 0 ? nil : summary.text
            let parts = ["\(QuantityText.grouped(summary.total)) match", outcomes, covered?.text]
            invocation.console.note(parts.compactMap { $0 }.joined(separator: "; "))
        }
    }

    /// Counts the operations, and shows the progress.
    private func preview(_ walk: ChangeWalk) async throws -> (result: ChangeWalk.Result, sample: [OperationDetail]) {
        let console = invocation.console
        defer { console.clearStatus() }
        let progress = WalkProgress(console)
        let watched = walk.stopping { result in
            progress.show(result, of: walk)
            return false
        }
        return try await watched.preview(sample: ChangePreview.sampleSize, of: allowed)
    }
}

extension ChangeWalk {
    func coverage(of result: Result) -> Coverage {
        Coverage(scanned: result.scanned, total: total, unread: result.unread)
    }
}

// MARK: - Both

extension Change {
    private func interrupted(_ status: ExitStatus) -> CLIError {
        CLIError(
            status,
            "interrupted; operations that are not listed are unchanged",
            fix: Program.command(invocation.arguments)
        )
    }

    /// Runs the body, and reports the rows that the body passes as they become known. Reports them even if the body
    /// fails.
    ///
    /// - Parameter body: returns the reason for an early end; nil = the change is complete.
    private func reported(
        since begun: ContinuousClock.Instant,
        _ interruption: Interruption,
        _ body: ((_ add: ([OperationOutcome]) async throws -> Void) async throws -> CLIError?),
        summary: (OutcomeSummary) -> Void = { _ in }
    ) async throws -> ExitStatus {
        var report = ChangeReport(invocation, participle: participle, namespace: client.namespace)
        var underWay: [OperationOutcome] = []
        var early: CLIError?
        do {
            early = try await body { rows in
                underWay += rows.filter(isUnderWay)
                report.add(rows.filter { !isUnderWay($0) })
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
