import Operations
import Sluice
import SluiceMonitor

/// Cancels operations by id.
struct OperationCancel: Sendable {
    let client: SluiceClient
    let invocation: Invocation
    let reason: String
    /// The queue that all of them are in, if it was said.
    let queue: String?

    func run(_ references: [IDReference], deadline: ContinuousClock.Instant?) async throws -> ExitStatus {
        let references = references.map { IDReference(queue: $0.queue ?? queue, $0.part) }
        let findings = try await Locator(client).find(references)
        var rows: [TargetReport.Row] = []
        for (reference, finding) in zip(references, findings) {
            rows.append(try await row(reference, finding))
        }
        if let deadline { rows = try await waited(rows, deadline: deadline) }
        return TargetReport(rows, participle: "cancelled", namespace: client.namespace).print(invocation)
    }

    /// Cancels what a query has found; what is still in a lane without a record is dropped when it is to start.
    func run(_ found: [OperationDetail], deadline: ContinuousClock.Instant?) async throws -> ExitStatus {
        let request = CancelRequest(reason: reason, by: SluiceClient.identity, storesIntent: true)
        var rows: [TargetReport.Row] = []
        for (queue, ids) in found.byQueue() {
            let outcomes = try await client.broker.cancel(ids, request: request, queue: queue)
            let details = try await client.broker.allDetails(ids, queue: queue)
            for (id, (outcome, detail)) in zip(ids, zip(outcomes, details)) {
                let location = Location(queue: queue, id: id)
                rows.append(row(id.description, location, outcome, detail))
            }
        }
        if let deadline { rows = try await waited(rows, deadline: deadline) }
        return TargetReport(rows, participle: "cancelled", namespace: client.namespace).print(invocation)
    }

    private func row(_ reference: IDReference, _ finding: Locator.Finding) async throws -> TargetReport.Row {
        if case .found(let location) = finding {
            let outcome = try await cancel(location, storesIntent: queue != nil)
            return row(reference.shown, location, outcome, try await detail(of: location))
        }
        if finding == .notFound, let (location, outcome) = try await cancelUntracked(reference) {
            return row(reference.shown, location, outcome, try await detail(of: location))
        }
        return TargetReport.Row(finding, of: reference)!
    }

    private func detail(of location: Location) async throws -> OperationDetail? {
        try await client.broker.details([location.id], queue: location.queue).first.flatMap { $0 }
    }

    private func cancel(_ location: Location, storesIntent: Bool) async throws -> CancelOutcome {
        let request = CancelRequest(reason: reason, by: SluiceClient.identity, storesIntent: storesIntent)
        return try await client.broker.cancel([location.id], request: request, queue: location.queue)[0]
    }

    /// An id without a record may be that of an untracked operation: one that runs in any queue, or waits in the queue that was said.
    private func cancelUntracked(_ reference: IDReference) async throws -> (Location, CancelOutcome)? {
        let queues = try await client.broker.queues()
        // What may be the misspelt end of an id is not remembered.
        let storesIntent = queue != nil && reference.meanings.allSatisfy { $0.id != nil }
        for meaning in reference.meanings {
            guard let id = meaning.id else { continue }
            for queue in queues where meaning.queue == nil || meaning.queue == queue {
                let location = Location(queue: queue, id: id)
                let outcome = try await cancel(location, storesIntent: storesIntent)
                if outcome == .unknown(intentStored: false) { continue }
                return (location, outcome)
            }
        }
        return nil
    }

    private func row(
        _ reference: String,
        _ location: Location,
        _ outcome: CancelOutcome,
        _ detail: OperationDetail?
    ) -> TargetReport.Row {
        var row = TargetReport.Row(
            reference: reference,
            location: location,
            text: "cancelled",
            outcome: "cancelled",
            detail: detail
        )
        switch outcome {
        case .cancelled: break
        case .requested(let worker): (row.text, row.outcome) = ("cancelling on \(worker)", "requested")
        case .ended(.cancelled, at: _): (row.text, row.outcome) = ("was cancelled before", "alreadyCancelled")
        case .ended(let state, let endedAt):
            let age = TimeText.relative(endedAt, now: invocation.localNow)
            row.text = "already \(state.rawValue) \(age)"
            (row.outcome, row.status) = ("alreadyEnded", .refused)
        case .unknown(intentStored: true):
            (row.text, row.outcome) = ("not here yet; it will be dropped when it is to start", "intentStored")
        case .unknown(intentStored: false):
            (row.text, row.outcome, row.status) = ("is unknown", "unknown", .notFound)
        }
        return row
    }
}

// MARK: - Waiting

extension OperationCancel {
    private func waited(
        _ rows: [TargetReport.Row],
        deadline: ContinuousClock.Instant
    ) async throws -> [TargetReport.Row] {
        let running = rows.filter { $0.outcome == "requested" }.compactMap(\.location)
        guard !running.isEmpty else { return rows }
        let started = ContinuousClock.now
        let ends = try await end(of: running, deadline: deadline)
        let time = DurationText.precise(ContinuousClock.now - started)
        return rows.map { row in
            guard row.outcome == "requested", let location = row.location else { return row }
            return Self.stopped(row, ends[location], after: time)
        }
    }

    /// An untracked operation has no record before it stopped, so the wait looks again until the time is up.
    private func end(
        of running: [Location],
        deadline: ContinuousClock.Instant
    ) async throws -> [Location: OperationDetail] {
        let waiter = EndWaiter(client, console: invocation.console)
        while true {
            let left = max(.zero, deadline - .now)
            let details = try await waiter.wait(for: running, timeout: left)
            let isOver = details.allSatisfy { $0?.state.isTerminal ?? false }
            if isOver || ContinuousClock.now >= deadline {
                return Dictionary(
                    uniqueKeysWithValues: zip(running, details).compactMap { pair in pair.1.map { (pair.0, $0) } }
                )
            }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    private static func stopped(
        _ row: TargetReport.Row,
        _ detail: OperationDetail?,
        after time: String
    ) -> TargetReport.Row {
        var row = row
        row.detail = detail ?? row.detail
        switch detail?.state {
        case .cancelled: (row.text, row.outcome) = ("cancelled after \(time)", "cancelled")
        case let state? where state.isTerminal:
            (row.text, row.outcome, row.status) = (
                "ended \(state.rawValue) before the cancel reached it", "alreadyEnded", .refused
            )
        default:
            let step =
                detail?.cancel?.acknowledgedAt == nil ? "requested, not acknowledged" : "acknowledged, not stopped"
            (row.text, row.outcome, row.status) = ("is still running after \(time): \(step)", "notStopped", .timedOut)
        }
        return row
    }
}
