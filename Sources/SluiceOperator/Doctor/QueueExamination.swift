import Operations
import TerminalText

extension Doctor {
    package mutating func examine(_ queue: String, _ walk: inout KeyWalk) async throws {
        let before = try await broker.auditQueue(queue, fixing: fixes[queue] ?? [])
        for finding in before.findings { add(finding) }
        let workers = Set(before.workers.map(\.id))
        var ready = walk.ready.removeValue(forKey: queue) ?? [:]
        var stale = 0
        var isComplete = walk.isComplete
        for lane in (0...4).reversed() {
            let end = try await examine(.lane(lane), queue) { audit in
                stale += audit.stale
                for id in audit.live.compactMap({ OperationID($0) }) { ready[id] = nil }
            }
            isComplete = end && isComplete
        }
        var places: [AuditPlace] = [.scheduled, .retrying, .blocked, .expiring, .unique]
        places += [OperationState.finished, .dead, .cancelled, .expired].map { .ended($0) }
        places += before.keyPlaces
        places += before.unhandled.map { .unhandled($0) }
        places += workers.union(walk.inFlight[queue] ?? []).sorted().map { .inFlight(worker: $0) }
        places += workers.union(walk.cancelRequests[queue] ?? []).sorted().map { .cancelRequests(worker: $0) }
        places += (walk.batches[queue] ?? []).sorted().map { .batch($0) }
        for place in places {
            let end = try await examine(place, queue) { _ in }
            isComplete = end && isComplete
        }
        if isComplete {
            try await findLost(ready, queue)
            try await compare(stale: stale, before, try await broker.auditQueue(queue, fixing: []))
        } else {
            coverage.isComplete = false
        }
        let snapshot = try await broker.snapshot(queue: queue, executingRows: 200)
        for diagnosis in QueueExamination(audit: before, snapshot: snapshot).diagnoses { chart.add(diagnosis) }
        try await findUnserved(snapshot)
        try await findStuck(snapshot)
        try await examineSchedules(snapshot)
    }

    /// Examines the entries of a place, up to the budget.
    ///
    /// - Returns: false if the place has more entries than the budget allows.
    private mutating func examine(_ place: AuditPlace, _ queue: String, _ body: (PlaceAudit) -> Void) async throws
        -> Bool
    {
        var cursor: String?
        var looked = 0
        repeat {
            let audit = try await broker.auditPlace(
                place,
                cursor: cursor,
                limit: Self.step,
                queue: queue,
                fixing: fixes[queue] ?? []
            )
            for finding in audit.findings { add(finding) }
            body(audit)
            cursor = audit.cursor
            looked += audit.looked
            coverage.entries += audit.looked
            progress("queue \(queue): \(QuantityText.grouped(coverage.entries)) entries")
        } while cursor != nil && looked < budget.entries
        return cursor == nil
    }

    /// Finds lost records: ready when the keys were read, in no lane, and unchanged since. No worker would ever start
    /// them.
    private mutating func findLost(_ missing: [OperationID: Int], _ queue: String) async throws {
        let ids = missing.keys.map(\.description)
        for start in stride(from: 0, to: ids.count, by: Self.step) {
            let part = Array(ids[start..<min(start + Self.step, ids.count)])
            for (text, head) in try await broker.auditRecords(part, queue: queue, fixing: []).ready {
                guard let id = OperationID(text), missing[id] == head.hashValue else { continue }
                let finding = AuditFinding(
                    code: "lost",
                    queue: queue,
                    subject: text,
                    detail: "its record says ready, but no lane has its reference",
                    fix: "put it into its lane"
                )
                if isToFix(finding), try await !broker.returnLost(id, head: head, queue: queue) { continue }
                add(finding)
            }
        }
    }

    /// Compares counters with the entries, which works only for a queue that did not change meanwhile.
    private mutating func compare(stale: Int, _ before: QueueAudit, _ after: QueueAudit) async throws {
        guard before.totals == after.totals, before.sizes == after.sizes,
            before.meta["fence"] == after.meta["fence"], before.meta["sequence"] == after.meta["sequence"]
        else { return }
        let counted = Int(before.totals["stale"] ?? 0)
        guard counted != stale else { return }
        let finding = AuditFinding(
            code: "counter",
            queue: before.queue,
            subject: "stale",
            detail:
                "the counter says \(counted) stale references, the lanes have \(stale): "
                + "the count of ready operations is wrong",
            fix: "correct it"
        )
        if isToFix(finding), try await !broker.setStale(stale, of: after) { return }
        add(finding)
    }

    /// Finds names of waiting operations that no live worker of the queue handles.
    private mutating func findUnserved(_ snapshot: QueueSnapshot) async throws {
        let handled = Set(snapshot.liveWorkers.compactMap { WorkerInfo($0.info) }.flatMap(\.handles))
        guard !handled.isEmpty else { return }
        var unserved: [String: Int] = [:]
        for state in [OperationState.ready, .scheduled, .retrying] {
            let page = try await broker.page(state: state, queue: snapshot.queue, cursor: nil, limit: 200)
            for operation in page.operations where !handled.contains(operation.envelope.name) {
                unserved[operation.envelope.name, default: 0] += 1
            }
        }
        for (name, count) in unserved.sorted(by: { $0.key < $1.key }) {
            let diagnosis = Diagnosis(
                .warning,
                "unserved",
                queue: snapshot.queue,
                name,
                "no live worker handles this name; at least \(QuantityText.operations(count)) of it \(count == 1 ? "waits" : "wait")",
                fix: "start a worker whose program registers it"
            )
            chart.add(
                diagnosis.about(
                    .queue(snapshot.queue),
                    .operations(queue: snapshot.queue, name: name),
                    weight: count
                )
            )
        }
    }
}

/// Finds problems in the numbers of a queue.
package struct QueueExamination {
    /// The time in milliseconds within which a sweep should have handled a lapsed lease.
    private static let patience: Int64 = 60_000

    package let audit: QueueAudit
    package let snapshot: QueueSnapshot

    package var diagnoses: [Diagnosis] { lapsed + weighted(waiting) + leftovers.map { $0.about(.queue(queue)) } }

    private var queue: String { audit.queue }
    private var hasLiveWorkers: Bool { !snapshot.liveWorkers.isEmpty }

    private var lapsed: [Diagnosis] {
        let floor = audit.meta["leaseFloor"].flatMap { Int64($0) } ?? 0
        return audit.workers.filter { $0.held > 0 && max($0.leaseUntil, floor) < audit.time - Self.patience }.map {
            worker in
            let row = snapshot.workers.first { $0.worker == worker.id }
            let lost = Remedy.LabeledWorker(id: worker.id, info: row.flatMap { WorkerInfo($0.info) })
            let ago = DurationText.short(.milliseconds(audit.time - max(worker.leaseUntil, floor)))
            let held = worker.held == 1 ? "it" : "them"
            let why = hasLiveWorkers ? "no sweep has recovered \(held)" : "no live worker can recover \(held)"
            return Diagnosis(
                hasLiveWorkers ? .error : .warning,
                "unswept",
                queue: queue,
                worker.id,
                "worker \(lost.label) was lost \(ago) ago and still holds \(QuantityText.operations(worker.held)): \(why)"
            ).about(
                .worker(lost),
                .held(by: lost),
                .queue(queue),
                remedy: hasLiveWorkers ? nil : .startWorker(queue: queue, handler: nil)
            )
        }
    }

    private func weighted(_ diagnoses: [Diagnosis]) -> [Diagnosis] {
        diagnoses.map { diagnosis in
            var diagnosis = diagnosis
            diagnosis.weight = snapshot.counts[.ready] ?? 0
            return diagnosis
        }
    }

    private var waiting: [Diagnosis] {
        let ready = snapshot.counts[.ready] ?? 0
        guard ready > 0 else { return [] }
        if snapshot.paused {
            return [
                Diagnosis(
                    .note,
                    "paused",
                    queue: queue,
                    queue,
                    "paused, \(QuantityText.operationsAre(ready)) ready"
                ).about(.queue(queue), .operations(queue: queue, state: .ready), remedy: .resumeQueue(queue))
            ]
        }
        guard !hasLiveWorkers else { return [] }
        return [
            Diagnosis(
                .warning,
                "noWorker",
                queue: queue,
                queue,
                "no live worker, \(QuantityText.operationsAre(ready)) ready"
            ).about(
                .queue(queue),
                .operations(queue: queue, state: .ready),
                remedy: .startWorker(queue: queue, handler: nil)
            )
        ]
    }

    private var leftovers: [Diagnosis] {
        var found: [Diagnosis] = []
        if audit.batches > 0 {
            found.append(
                Diagnosis(
                    .note,
                    "batches",
                    queue: queue,
                    queue,
                    "\(audit.batches) cancelled batches of the queue are not cleared away yet"
                )
            )
        }
        if audit.intents >= 9000 {
            found.append(
                Diagnosis(
                    .warning,
                    "intents",
                    queue: queue,
                    queue,
                    "\(audit.intents) cancels of unknown ids are stored; the limit is 10,000"
                )
            )
        }
        if audit.awaited >= 100_000 {
            found.append(
                Diagnosis(
                    .note,
                    "awaited",
                    queue: queue,
                    queue,
                    "clients wait for \(QuantityText.operations(audit.awaited))"
                )
            )
        }
        return found
    }
}
