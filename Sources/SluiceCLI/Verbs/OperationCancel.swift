import Operations
import Sluice
import SluiceMonitor
import SluiceOperator
import TerminalText

/// Cancels named operations, or the operations that a query finds.
struct OperationCancel: Sendable {
    let client: SluiceClient
    let invocation: Invocation
    let reason: String
    /// The queue of all named operations, if one was given.
    let queue: String?
    /// Whether running operations end at once.
    let isForced: Bool
    /// The longest wait for running operations to stop; nil = no wait.
    let waitLimit: Duration?
    /// The standing cancel for operations that are enqueued later; nil = none.
    let standing: StandingCancelling?

    /// Cancels named operations.
    ///
    /// - Parameter withTree: whether to cancel the dependents as well.
    func run(_ references: [IDReference], _ consent: Consent, withTree: Bool) async throws -> ExitStatus {
        let named = references.map { IDReference(queue: $0.queue ?? queue, $0.part) }
        guard withTree else { return try await change(storesIntent: queue != nil).run(named, consent) }
        let tree = try await DependencyTree.ofCancel(client.broker, named)
        return try await change(storesIntent: queue != nil, roots: tree.roots).run(tree.references, consent)
    }

    /// Cancels the operations that a query finds.
    func run(_ selection: Selection, _ consent: Consent) async throws -> ExitStatus {
        try await change(storesIntent: true).run(selection, in: ChangeKind.cancel.searched, consent)
    }

    /// Makes the change.
    ///
    /// - Parameter roots: for each operation that is cancelled only as a dependent, the operation that it depends on.
    private func change(storesIntent: Bool, roots: [OperationID: OperationID] = [:]) -> Change {
        var change = Change(
            invocation: invocation,
            client: client,
            verb: ChangeKind.cancel.verb,
            participle: ChangeKind.cancel.participle,
            allowed: Set(ChangeKind.cancel.allowed),
            needsRecord: false
        ) { ids, queue, _ in
            var rows: [OperationOutcome] = []
            var left = ids[...]
            while let root = left.first.map({ roots[$0] }) {
                let next = left.prefix { roots[$0] == root }
                let reason = root.map { TreeMark.reason(self.reason, with: $0) } ?? self.reason
                rows += try await self.rows(Array(next), in: queue, reason: reason, storesIntent: storesIntent)
                left = left.dropFirst(next.count)
            }
            return rows
        }
        // Dependents go before their dependencies, so no end starts one of them.
        change.keepsOrder = !roots.isEmpty
        if let standing { change.prepare = { try await standing.set() } }
        change.applyToMissing = { reference in try await cancelUntracked(reference) }
        if let waitLimit {
            change.wait = { rows, begun in try await waited(rows, deadline: begun + waitLimit) }
        }
        return change
    }

    private func rows(
        _ ids: [OperationID],
        in queue: String,
        reason: String,
        storesIntent: Bool
    ) async throws -> [OperationOutcome] {
        let request = CancelRequest(
            reason: reason,
            by: SluiceClient.identity,
            storesIntent: storesIntent,
            isForced: isForced
        )
        let step = OperationChange(client.broker, .cancel, request) { [invocation] in invocation.now }
        var outcomes = try await step.apply(ids, queue: queue)
        // Only JSON shows the current details.
        guard invocation.format.isJSON else { return outcomes }
        for (index, detail) in try await client.broker.allDetails(ids, queue: queue).enumerated() {
            outcomes[index].detail = detail
        }
        return outcomes
    }

    /// Cancels an id without a record, which may be the id of an untracked operation. Finds an executing one in any
    /// queue. A waiting one is found only in the given queue, through the stored cancel.
    private func cancelUntracked(_ reference: IDReference) async throws -> OperationOutcome? {
        let queues = try await client.queues()
        // A text that may be a mistyped end of an id must not be stored.
        let storesIntent = queue != nil && reference.meanings.allSatisfy { $0.id != nil }
        for meaning in reference.meanings {
            guard let id = meaning.id else { continue }
            for queue in queues where meaning.queue == nil || meaning.queue == queue {
                let row = try await rows([id], in: queue, reason: reason, storesIntent: storesIntent)[0]
                if row.result != .unknown { return row }
            }
        }
        return nil
    }
}

// MARK: - Waiting

extension OperationCancel {
    private func waited(
        _ rows: [OperationOutcome],
        deadline: ContinuousClock.Instant
    ) async throws -> [OperationOutcome] {
        let rows = try await stoppedByForce(rows, deadline: deadline)
        let running = rows.filter { $0.name == "requested" }.compactMap(\.address)
        guard !running.isEmpty else { return rows }
        let started = ContinuousClock.now
        let ends = try await end(of: running, deadline: deadline)
        let time = DurationText.precise(ContinuousClock.now - started)
        return rows.map { row in
            guard row.name == "requested", let location = row.address else { return row }
            return Self.stopped(row, ends[location], after: time)
        }
    }

    /// Waits until the operations have ended. An untracked operation has no record before its end, so this reads again
    /// until the deadline.
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

    /// Waits until the workers have reported that the bodies of operations cancelled by force have stopped.
    private func stoppedByForce(
        _ rows: [OperationOutcome],
        deadline: ContinuousClock.Instant
    ) async throws -> [OperationOutcome] {
        var rows = rows
        let started = ContinuousClock.now
        var open = rows.indices.filter { rows[$0].name == "forced" && rows[$0].address != nil }
        while !open.isEmpty {
            for index in open {
                guard let location = rows[index].address else { continue }
                let waiter = EndWaiter(client, console: invocation.console)
                let found = try await waiter.read([location], until: deadline)[0]
                rows[index].detail = found
                guard found?.cancel?.stoppedAt != nil else { continue }
                rows[index].text = "cancelled by force; stopped after \(DurationText.precise(.now - started))"
            }
            open.removeAll { rows[$0].detail?.cancel?.stoppedAt != nil }
            guard !open.isEmpty, ContinuousClock.now < deadline else { break }
            try await Task.sleep(for: .milliseconds(50))
        }
        let time = DurationText.precise(ContinuousClock.now - started)
        for index in open {
            let worker = rows[index].detail?.cancel?.forced?.worker ?? "its worker"
            rows[index].text =
                "cancelled by force, but \(worker) has not reported within \(time) that the body has stopped"
            (rows[index].kind, rows[index].result) = ("cancelled by force, not known to have stopped", .stillRunning)
        }
        return rows
    }

    private static func stopped(
        _ row: OperationOutcome,
        _ detail: OperationDetail?,
        after time: String
    ) -> OperationOutcome {
        var row = row
        row.detail = detail ?? row.detail
        switch detail?.state {
        case .cancelled:
            (row.text, row.name) = ("cancelled after \(time)", "cancelled")
            row.kind = row.name
        case let state? where state.isTerminal:
            (row.text, row.name, row.result) = (
                "ended \(state.rawValue) before the cancel reached it", "alreadyEnded", .refused
            )
            row.kind = row.text
        default:
            let step =
                detail?.cancel?.acknowledgedAt == nil ? "requested, not acknowledged" : "acknowledged, not stopped"
            (row.text, row.name, row.result) = ("is still running after \(time): \(step)", "notStopped", .stillRunning)
            row.kind = "still running"
        }
        return row
    }
}
