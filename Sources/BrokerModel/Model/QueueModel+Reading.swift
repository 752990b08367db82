import Operations

// Reads for user interfaces.
extension QueueModel {
    func detail(_ id: OperationID) -> OperationDetail? {
        guard let stored = operations[id] else { return nil }
        var detail = OperationDetail(queue: queue, record: stored.record, state: shownState(of: stored.record))
        detail.worker = owner(of: id)?.worker
        detail.ranOn = lastWorker(of: stored)
        detail.isAwaited = awaited[id] != nil
        detail.isUnhandled = stored.unhandledName != nil && detail.state == .ready
        detail.limitKey = stored.limitKey
        detail.waitsForKey = detail.state == .ready && waitsForKey(id, stored)
        detail.result = stored.result
        detail.errors = stored.errors
        detail.hold = detail.state == .blocked ? stored.hold?.trace : nil
        detail.uniqueKey = stored.unique?.key
        detail.waitsForTurn = detail.state == .blocked && stored.waitsForTurn
        detail.keyHolder = detail.waitsForTurn ? stored.unique.flatMap { keys[$0.key]?.id } : nil
        detail.links = links(of: id)
        detail.progress = stored.progress
        detail.stored = stored.stored
        detail.snooze = stored.snooze
        detail.yields = stored.yields
        detail.recoveries = stored.recoveries
        detail.logStarts = stored.logStarts
        detail.cancel = trace(of: stored, state: detail.state)
        if detail.state.isTerminal { detail.record.endedAt = endInstant(of: stored.record) }
        if detail.state == .expired, stored.record.state != .expired {
            detail.record.endedAt = stored.record.header.expiresAt
        }
        return detail
    }

    private func lastWorker(of stored: StoredOperation) -> String? {
        guard [.retrying, .finished, .dead, .cancelled].contains(stored.record.state) else { return nil }
        return stored.ranOn.flatMap { leases[$0] == nil ? nil : $0 }
    }

    /// The cancel of an operation. A cancel of the whole queue shows in each operation that it concerns, even if the
    /// operation's record does not contain it yet.
    private func trace(of stored: StoredOperation, state: OperationState) -> CancelTrace? {
        let isTold = state == .executing && stored.record.fence <= cancelledFence
        let isInBatch = state == .cancelled && stored.record.state != .cancelled
        let ofQueue = isInBatch ? queueCancel(of: stored.record) : isTold ? queueCancel : nil
        guard let intent = stored.cancel ?? ofQueue else { return nil }
        return CancelTrace(
            requestedAt: intent.at,
            acknowledgedAt: stored.cancelAcknowledgedAt,
            stoppedAt: stored.forced != nil
                ? stored.cancelStoppedAt : state == .cancelled ? endInstant(of: stored.record) : nil,
            reason: intent.reason,
            by: intent.by,
            forced: stored.forced?.trace,
            standing: stored.standing
        )
    }

    /// Lost workers, the oldest loss first.
    var lostInOrder: [LostWorker] {
        lost.values.sorted { ($0.recoveredAt, $0.worker) < ($1.recoveredAt, $1.worker) }
    }

    func isForgotten(_ worker: LostWorker) -> Bool {
        worker.recoveredAt <= now - SluiceDefaults.lostWorkersAge.wholeMilliseconds
    }

    func lostWorkers(limit: Int) -> [LostWorker] {
        lostInOrder.reversed().prefix(limit).filter { !isForgotten($0) }
    }

    func snapshot(executingRows: Int) -> QueueSnapshot {
        var snapshot = QueueSnapshot(queue: queue, time: now)
        snapshot.paused = isPaused
        snapshot.pausedUntil = isPaused ? pausedUntil : nil
        snapshot.pause = isPaused ? pause : nil
        snapshot.limits = limits
        snapshot.limitsSet = limitsSet
        snapshot.nextStartMilliseconds = limits.rate?.millisecondsToNextStart(bucket: bucket, now: now)
        snapshot.schedules = scheduleSummary
        snapshot.counts = counts
        snapshot.totals = totals
        snapshot.oldestReadyMilliseconds = oldestReady
        snapshot.eventSequence = eventSequence
        snapshot.sequence = sequence
        snapshot.leaseFloor = outageUntil
        snapshot.workers = leasesInOrder.prefix(QueueSnapshot.workerLimit).map { row(of: $0.key, leaseUntil: $0.value) }
        snapshot.unhandled = unhandledInOrder.prefix(20).map { UnhandledName(name: $0.name, count: $0.count) }
        snapshot.unhandledNames = unhandled.count
        snapshot.unhandledCount = unhandledCount
        snapshot.limitKeys = limitKeys.inOrder.prefix(20).map { row(of: $0.key) }
        snapshot.limitKeyCount = limitKeys.ready.count
        snapshot.executing = heldInOrder.prefix(executingRows).map(executingRow)
        return snapshot
    }

    /// How many operations each state has. Operations ended by a cancel of the whole queue count as cancelled before
    /// they are cleared away.
    private var counts: [OperationState: Int] {
        var counts: [OperationState: Int] = [
            .ready: readyCount, .scheduled: scheduled.count, .retrying: retrying.count, .blocked: blocked.count,
            .executing: executingCount,
        ]
        for state in OperationState.allCases where state.isTerminal { counts[state] = ended[state]?.count ?? 0 }
        counts[.cancelled, default: 0] += batches.reduce(0) { $0 + count(of: $1) }
        return counts
    }

    /// How long the oldest ready operation has waited, in milliseconds. Read from the heads of the lanes, even if such
    /// a head is a stale reference.
    private var oldestReady: Int64? {
        guard readyCount > 0 else { return nil }
        let heads = lanes.compactMap(\.head?.header) + firstUnhandled + firstOfKeys
        return heads.map { now - $0.readyAt }.max().flatMap { $0 >= 0 ? $0 : nil }
    }

    private var leasesInOrder: [(key: String, value: Int64)] {
        leases.sorted { ($0.value, $0.key) < ($1.value, $1.key) }
    }

    private func row(of worker: String, leaseUntil: Int64) -> WorkerRow {
        let held = workers[worker] ?? HeldOperations()
        var row = WorkerRow(
            worker: worker,
            leaseUntil: leaseUntil,
            beatAt: held.beatAt,
            inFlight: held.inFlight.count,
            info: held.info
        )
        row.settings = held.settings
        return row
    }
}

// MARK: - Events

extension QueueModel {
    mutating func store(_ batch: EventBatch) {
        let number = (storedEvents.last?.cursor).flatMap { Int($0) } ?? 0
        storedEvents.append(.init(cursor: "\(number + 1)", at: now, batch: batch))
        if storedEvents.count > StoredEvents.kept { storedEvents.removeFirst() }
    }

    func storedEvents(after cursor: String?, agoMilliseconds: Int64, limit: Int) -> StoredEvents {
        let last = cursor.flatMap { Int($0) }
        let found = storedEvents.filter { entry in
            last.map { (Int(entry.cursor) ?? 0) > $0 } ?? (entry.at >= now - agoMilliseconds)
        }
        return StoredEvents(
            time: now,
            newest: eventSequence,
            trimmedBefore: storedEvents.count < StoredEvents.kept ? nil : storedEvents.first?.at,
            entries: Array(found.prefix(limit)),
            cursor: found.prefix(limit).last?.cursor
        )
    }
}

// MARK: - What runs

extension QueueModel {
    typealias Holding = (worker: String, fence: Int64, element: LaneElement)

    /// Held operations: by the leases of their workers, then by fence.
    var heldInOrder: [Holding] {
        leasesInOrder.flatMap { lease in
            (workers[lease.key]?.inFlight ?? [:]).sorted { $0.key < $1.key }.map { (lease.key, $0.key, $0.value) }
        }
    }

    private func executingRow(_ held: Holding) -> ExecutingRow {
        let stored = held.element.header.tracked ? operations[held.element.id] : nil
        let about = EnvelopeHead(envelope(of: held.element))
        var row = ExecutingRow(
            worker: held.worker,
            fence: held.fence,
            header: stored?.record.header ?? held.element.header,
            name: about.name,
            maxAttempts: about.attempts
        )
        let head = stored == nil ? OperationHeader.byteCount : OperationRecord.headByteCount
        let envelope = envelope(of: held.element)
        if head + envelope.count < ExecutingRow.readBytes { row.envelope = envelope }
        row.startedAt = stored?.record.startedAt
        row.progress = stored?.progress
        row.cancelRequestedAt = stored?.cancel?.at ?? workers[held.worker]?.cancelling[held.fence]?.at
        return row
    }
}

/// The fields in the first kilobyte of an envelope, which is all that a snapshot reads. The name comes first.
private struct EnvelopeHead {
    var name = "?"
    var attempts = SluiceDefaults.attempts

    init(_ envelope: [UInt8]) {
        var fields = JSONFields(Array(envelope.prefix(1024 - OperationRecord.headByteCount)))
        while let field = try? fields.next() {
            let value = String(decoding: field.value, as: UTF8.self)
            if field.key == "name" { name = String(value.dropFirst().dropLast()) }
            if field.key == "attempts" { attempts = Int(value) ?? attempts }
        }
    }
}

// MARK: - Pages

extension QueueModel {
    /// Returns a page of a state. Scheduled and retrying operations: the next due first. Executing ones: by worker and
    /// fence. The cursor is the place of the last row.
    func page(state: OperationState, cursor: String?, limit: Int, sought: SoughtText?) -> OperationPage {
        let all = rows(of: state)
        let rows = all.dropFirst(cursor.map { start(behind: $0, in: all, state) } ?? 0)
        var page = OperationPage(operations: [], cursor: nil)
        var last = cursor
        for (row, place) in rows.prefix(limit) where page.operations.count < OperationPage.answered {
            last = place
            if sought?.mayBe(in: row.record.envelope) ?? true {
                page.operations.append(row)
                page.places.append(place)
            } else {
                page.leftOut += 1
            }
        }
        if rows.count > page.operations.count + page.leftOut { page.cursor = last }
        return page
    }

    private typealias PlacedRow = (row: OperationDetail, place: String)

    private func rows(of state: OperationState) -> [PlacedRow] {
        switch state {
        case .ready: readyRows
        case .executing:
            heldInOrder.sorted { ($0.worker, $0.fence) < ($1.worker, $1.fence) }.compactMap { held in
                row(of: held.element, state: .executing, fence: held.fence).map { ($0, "\(held.worker) \(held.fence)") }
            }
        case .scheduled: rows(of: scheduled.entries)
        case .retrying: rows(of: retrying.entries)
        case .blocked: rows(of: blocked.entries.reversed())
        case .cancelled: batches.reversed().flatMap(rows).map { ($0, "\($0.id)") } + endedRows(.cancelled)
        case .finished, .dead, .expired: endedRows(state)
        }
    }

    private var readyRows: [PlacedRow] {
        let elements = lanes.reversed().flatMap(\.elements).filter { operations[$0.id]?.limitKey == nil }
        let unlimited = elements.compactMap { row(of: $0, state: .ready, fence: 0) }
        return unlimited.map { ($0, "\($0.id)") } + rowsOfKeys + unhandledRows
    }

    private var unhandledRows: [PlacedRow] {
        unhandled.values.sorted { $0.number < $1.number }.flatMap { unhandled in
            rows(of: unhandled.set.entries).map { ($0.row, "u \(unhandled.number) \($0.place)") }
        }
    }

    /// Ready operations with limit keys, also those that stand in lanes: keys by name, each in its order.
    private var rowsOfKeys: [PlacedRow] {
        limitKeys.ready.sorted { $0.key < $1.key }.flatMap { key, set in
            let entries = (set.waiting.entries + set.next.entries).sorted { ($0.score, $0.id) < ($1.score, $1.id) }
            return rows(of: entries).map { ($0.row, "\(key) \($0.place)") }
        }
    }

    /// The index of the first row behind a cursor. If the cursor's row is gone, the next row in the order of places
    /// follows. Operations leave their lane at its head, with all rows before them, so the page begins at the first
    /// row.
    private func start(behind cursor: String, in rows: [PlacedRow], _ state: OperationState) -> Int {
        if let index = rows.firstIndex(where: { $0.place == cursor }) { return index + 1 }
        let isDescending = ![.scheduled, .retrying, .executing].contains(state)
        if state == .ready { return startOfReady(behind: cursor, in: rows) }
        guard let last = Self.order(of: cursor) else { return 0 }
        return rows.firstIndex { row in
            Self.order(of: row.place).map { isDescending ? $0 < last : $0 > last } ?? false
        } ?? rows.count
    }

    private func startOfReady(behind cursor: String, in rows: [PlacedRow]) -> Int {
        guard let last = Self.orderOfReady(cursor) else { return 0 }
        return rows.firstIndex { Self.orderOfReady($0.place).map { $0 > last } ?? false } ?? rows.count
    }

    /// Parses the place of a ready row behind the lanes: "key score id" with a limit key, or "u number score id" with
    /// an unhandled name.
    private static func orderOfReady(_ place: String) -> (Int, String, Int64, String)? {
        let words = place.split(separator: " ").map(String.init)
        guard words.count > 2, let score = Int64(words[words.count - 2]), let id = words.last else { return nil }
        if words.count == 3 { return (0, words[0], score, id) }
        return Int(words[1]).map { ($0, "", score, id) }
    }

    /// Parses the place of a row: "score id" or "worker fence".
    private static func order(of place: String) -> (Int64, String, Int64)? {
        let words = place.split(separator: " ").map(String.init)
        guard words.count == 2 else { return nil }
        if let score = Int64(words[0]) { return (score, words[1], 0) }
        return Int64(words[1]).map { (0, words[0], $0) }
    }

    private func rows(of entries: [ScoredSet.Entry]) -> [PlacedRow] {
        entries.compactMap { entry in detail(entry.id).map { ($0, "\(entry.score) \(entry.id)") } }
    }

    private func endedRows(_ state: OperationState) -> [PlacedRow] {
        rows(of: (ended[state]?.entries ?? []).reversed())
    }

    /// Operations that a cancel of the whole queue ended and no sweep has cleared away, each place from its tail.
    /// Operations removed or retried since then are left out.
    private func rows(of batch: CancelledBatch) -> [OperationDetail] {
        let elements = batch.lanes.reversed().flatMap { $0.elements.reversed() }
        return elements.compactMap { row(of: $0, state: .cancelled, fence: 0) }
            + rows(of: batch.scheduled, .scheduled, through: batch.sequence)
            + rows(of: batch.retrying, .retrying, through: batch.sequence)
            + rows(of: batch.blocked, .blocked, through: batch.sequence)
            + Self.inOrder(batch.unhandled).flatMap { rows(of: $0.set, .ready, through: batch.sequence) }
            + batch.keyed.reversed().flatMap { rows(of: $0.waiting, .ready, through: batch.sequence) }
    }

    private func rows(of set: ScoredSet, _ stored: OperationState, through sequence: Int64) -> [OperationDetail] {
        set.entries.reversed().filter { counts($0.id, stored, through: sequence) }.compactMap { detail($0.id) }
    }

    /// The number of rows of a batch.
    private func count(of batch: CancelledBatch) -> Int {
        func count(_ set: ScoredSet, _ stored: OperationState) -> Int {
            set.entries.count { counts($0.id, stored, through: batch.sequence) }
        }
        return batch.lanes.reduce(0) { $0 + $1.elements.count { counts($0, as: .cancelled) } }
            + count(batch.scheduled, .scheduled) + count(batch.retrying, .retrying) + count(batch.blocked, .blocked)
            + batch.unhandled.values.reduce(0) { $0 + count($1.set, .ready) }
            + batch.keyed.reduce(0) { $0 + count($1.waiting, .ready) }
    }

    private func counts(_ id: OperationID, _ stored: OperationState, through sequence: Int64) -> Bool {
        guard let record = operations[id]?.record else { return false }
        return record.state == stored && record.header.sequence <= sequence
    }

    /// Whether an element of a lane counts. Stale references do not.
    private func counts(_ element: LaneElement, as state: OperationState) -> Bool {
        guard element.header.tracked else { return true }
        guard let record = operations[element.id]?.record else { return false }
        return effectiveState(of: record) == state && record.header.revision == element.header.revision
            && record.header.sequence == element.header.sequence
    }

    private func row(of element: LaneElement, state: OperationState, fence: Int64) -> OperationDetail? {
        guard element.header.tracked else { return untrackedRow(of: element, state: state, fence: fence) }
        return counts(element, as: state) ? detail(element.id) : nil
    }

    private func untrackedRow(of element: LaneElement, state: OperationState, fence: Int64) -> OperationDetail {
        let record = OperationRecord(
            header: element.header,
            state: state,
            fence: fence,
            enqueuedAt: element.header.readyAt,
            envelope: element.envelope
        )
        var detail = OperationDetail(queue: queue, record: record, state: state)
        detail.worker = workers.first { $0.value.inFlight[fence]?.id == element.id }?.key
        return detail
    }

    func backlog(aheadOf id: OperationID, limit: Int) -> Backlog? {
        guard let stored = operations[id], effectiveState(of: stored.record) == .ready else { return nil }
        if let name = stored.unhandledName {
            let rank = unhandled[name]?.set.entries.firstIndex { $0.id == id }
            return Backlog(inLane: rank ?? 0, inHigherLanes: 0, isLeast: false)
        }
        let ofKey = stored.limitKey.flatMap { limitKeys.ready[$0]?.waiting.entries }
        if let rank = ofKey?.firstIndex(where: { $0.id == id }) {
            return Backlog(inLane: rank, inHigherLanes: 0, isLeast: false)
        }
        let lane = stored.record.header.priority.lane
        let looked = lanes[lane].elements.prefix(min(limit, Backlog.limit))
        let position = looked.firstIndex { $0.id == id && counts($0, as: .ready) }
        return Backlog(
            inLane: position ?? looked.count,
            inHigherLanes: lanes[(lane + 1)...].reduce(0) { $0 + $1.count },
            isLeast: position == nil
        )
    }

    func log(_ id: OperationID, from line: Int, limit: Int) -> (first: Int, lines: [LogLine]) {
        guard let stored = operations[id] else { return (line, []) }
        let first = max(line, stored.logBase)
        return (first, Array(stored.log.dropFirst(first - stored.logBase).prefix(limit)))
    }
}

// MARK: - Waiting for ends

extension QueueModel {
    mutating func markAwaited(_ ids: [OperationID]) {
        awaited = awaited.filter { now - $0.value < Self.awaitedMilliseconds }
        for id in ids where operations[id] != nil {
            awaited[id] = now
        }
    }

    func states(of ids: [OperationID]) -> [OperationState?] {
        ids.map { id in operations[id].map { shownState(of: $0.record) } }
    }
}
