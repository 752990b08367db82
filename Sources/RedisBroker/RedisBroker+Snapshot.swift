import Operations
import RedisClient

extension RedisBroker {
    package func snapshot(queue: String, executingRows: Int) async throws -> QueueSnapshot {
        var arguments = arguments(queue)
        arguments.append(min(max(executingRows, 0), 200))
        return try QueueSnapshot(reply: try await read(.snapshot, arguments), queue: queue)
    }
}

extension RedisBroker {
    package func lostWorkers(queue: String, limit: Int) async throws -> [LostWorker] {
        var arguments = arguments(queue)
        arguments.append(min(max(limit, 1), SluiceDefaults.lostWorkersKept))
        let reply = try await read(.lost, arguments).array ?? []
        return reply.chunks(of: 3).compactMap(LostWorker.init)
    }
}

extension LostWorker {
    /// Reads three values of a reply of `lost.lua`.
    fileprivate init?(_ values: ArraySlice<RedisValue>) {
        let values = Array(values)
        guard values.count == 3, let worker = values[0].string, let recoveredAt = values[1].int,
            let said = values[2].bytes
        else { return nil }
        let fields = said.split(separator: UInt8(ascii: " "), maxSplits: 6, omittingEmptySubsequences: false)
        let numbers = fields.prefix(5).compactMap { Int64(String(decoding: $0, as: UTF8.self)) }
        guard fields.count == 7, numbers.count == 5 else { return nil }
        self.init(worker: worker, lostAt: numbers[0], recoveredAt: Int64(recoveredAt), beatAt: numbers[1])
        (recovered, dead, cancelled) = (Int(numbers[2]), Int(numbers[3]), Int(numbers[4]))
        operations = String(decoding: fields[5], as: UTF8.self).split(separator: ",").compactMap {
            OperationID(String($0))
        }
        info = Array(fields[6])
    }
}

extension QueueSnapshot {
    /// Reads a reply of `snapshot.lua`.
    init(reply: RedisValue, queue: String) throws(OperationsError) {
        guard let fields = reply.array, fields.count == 17 else {
            throw OperationsError(.malformed, "the reply of a snapshot cannot be read")
        }
        self.init(queue: queue, time: Int64(fields[0].int ?? 0))
        let states: [OperationState] = [.ready, .scheduled, .retrying, .finished, .dead, .cancelled, .expired]
        for (index, state) in states.enumerated() { counts[state] = fields[index + 1].int ?? 0 }
        if let oldest = fields[8].int, oldest >= 0 { oldestReadyMilliseconds = Int64(oldest) }
        read(limitKeys: fields[16].array ?? [])
        read(meta: Extras(fields[9]), totals: Extras(fields[10]).numbers)
        workers = (fields[11].array ?? []).chunks(of: 7).compactMap(WorkerRow.init)
        executing = (fields[12].array ?? []).chunks(of: 6).compactMap(ExecutingRow.init)
        unhandledNames = fields[13].int ?? 0
        counts[.blocked] = fields[15].int ?? 0
        unhandled = (fields[14].array ?? []).chunks(of: 2).compactMap(UnhandledName.init)
    }

    private mutating func read(meta: Extras, totals: [String: Int64]) {
        paused = meta.text("paused") == "1"
        pausedUntil = meta.number("pausedUntil")
        if let until = pausedUntil, until <= time { (paused, pausedUntil) = (false, nil) }
        if paused { pause = OperatorTrace(stored: meta.text("pauseTrace")) }
        limits = QueueLimits(stored: meta.text("limits"), keys: limits.storedOfKeys)
        nextStartMilliseconds = limits.rate?.millisecondsToNextStart(bucket: meta.number("bucket"), now: time)
        if limits != QueueLimits() { limitsSet = OperatorTrace(stored: meta.text("limitTrace")) }
        schedules = ScheduleSummary(stored: meta.text("schedules"))
        eventSequence = meta.number("eventSequence") ?? 0
        sequence = meta.number("sequence") ?? 0
        leaseFloor = meta.number("outageUntil") ?? 0
        self.totals = totals
        // Each operation has a number of the sequence. A few numbers are not of operations.
        if let numbers = meta.number("sequence") {
            self.totals["enqueued"] = max(0, numbers - (totals["notEnqueued"] ?? 0))
        }
        self.totals["notEnqueued"] = nil
        counts[.executing] = Int(totals["executing"] ?? 0)
        self.totals["executing"] = nil
        self.totals["stale"] = nil
        // The total `cancelled` already includes these operations.
        self.totals["clearing"] = nil
        unhandledCount = Int(totals["unhandled"] ?? 0)
        self.totals["unhandled"] = nil
        self.totals["keyed"] = nil
    }

    private mutating func read(limitKeys values: [RedisValue]) {
        guard values.count == 3 else { return }
        limitKeyCount = values[0].int ?? 0
        limits = QueueLimits(stored: nil, keys: Extras(values[1]).texts)
        limitKeys = (values[2].array ?? []).chunks(of: 5).compactMap { LimitKeyRow($0, limits, now: time) }
    }
}

extension UnhandledName {
    fileprivate init?(_ fields: ArraySlice<RedisValue>) {
        guard fields.count == 2, let name = fields.first?.string, let count = fields.last?.string.flatMap(Int.init)
        else {
            return nil
        }
        self.init(name: name, count: count)
    }
}

extension LimitKeyRow {
    fileprivate init?(_ fields: ArraySlice<RedisValue>, _ limits: QueueLimits, now: Int64) {
        let fields = Array(fields)
        guard fields.count == 5, let key = fields[0].string, let ready = fields[1].string.flatMap(Int.init) else {
            return nil
        }
        self.init(key: key, ready: ready, waiting: fields[2].int ?? 0, executing: fields[3].int ?? 0)
        noteNextStart(limits.limit(of: key), bucket: fields[4].string.flatMap { Int64($0) }, now: now)
    }
}

extension RedisBroker {
    package func keyHolders(_ keys: [String], queue: String) async throws -> [OperationID?] {
        var arguments = arguments(queue, capacity: 128 + 64 * keys.count)
        for key in keys { arguments.append(key) }
        let holders = try await read(.keyHolders, arguments).array ?? []
        guard holders.count == keys.count else {
            throw OperationsError(.malformed, "the reply about unique keys cannot be read")
        }
        return holders.map { $0.string.flatMap { OperationID($0) } }
    }

    package func limitKey(_ key: String, queue: String) async throws -> LimitKeyState {
        var arguments = arguments(queue)
        arguments.append(key)
        arguments.append(LimitKeyState.named)
        let fields = try await read(.limitKey, arguments).array ?? []
        guard fields.count == 8 else {
            throw OperationsError(.malformed, "the reply about a limit key cannot be read")
        }
        let stored = [key: fields[0].string ?? "", QueueLimits.allKeys: fields[1].string ?? ""]
        let (waiting, next) = (fields[2].int ?? 0, fields[3].int ?? 0)
        let limit = QueueLimits(stored: nil, keys: stored).limit(of: key)
        var row = LimitKeyRow(key: key, ready: waiting + next, waiting: waiting, executing: fields[4].int ?? 0)
        let bucket = fields[7].string.flatMap { Int64($0) }
        row.noteNextStart(limit, bucket: bucket, now: fields[6].string.flatMap { Int64($0) } ?? 0)
        return LimitKeyState(
            row: row,
            limit: limit,
            executing: (fields[5].array ?? []).compactMap { $0.string.flatMap { OperationID($0) } }
        )
    }
}

extension WorkerRow {
    fileprivate init?(_ fields: ArraySlice<RedisValue>) {
        let fields = Array(fields)
        guard fields.count == 7, let worker = fields[0].string else { return nil }
        self.init(
            worker: worker,
            leaseUntil: Int64(fields[1].int ?? 0),
            beatAt: Int64(fields[3].int ?? 0),
            inFlight: fields[2].int ?? 0,
            info: fields[4].bytes ?? []
        )
        settings = WorkerSettings(course: fields[5], slots: fields[6])
    }
}

extension ExecutingRow {
    fileprivate init?(_ fields: ArraySlice<RedisValue>) {
        let fields = Array(fields)
        guard fields.count == 6, let worker = fields[0].string, let fence = fields[1].int, let bytes = fields[2].bytes,
            let (header, _) = OperationHeader.salvage(bytes)
        else { return nil }
        let isRecord = fields[3].string == "1"
        let envelope = Array(bytes.dropFirst(isRecord ? OperationRecord.headByteCount : OperationHeader.byteCount))
        let about = EnvelopePrefix(envelope)
        self.init(
            worker: worker,
            fence: Int64(fence),
            header: header,
            name: about.name,
            maxAttempts: about.attempts
        )
        if bytes.count < Self.readBytes { self.envelope = envelope }
        if isRecord, let record = try? OperationRecord(bytes) {
            startedAt = record.startedAt > 0 ? record.startedAt : nil
        }
        progress = fields[4].bytes.flatMap(Progress.read)
        cancelRequestedAt = fields[5].string.flatMap { Int64($0) }
    }
}

/// The fields of an envelope that may have been cut. The name comes first.
private struct EnvelopePrefix {
    var name = "?"
    var attempts = SluiceDefaults.attempts

    init(_ bytes: [UInt8]) {
        var fields = JSONFields(bytes)
        while let field = try? fields.next() {
            switch field.key {
            case "name": name = String(decoding: field.value.dropFirst().dropLast(), as: UTF8.self)
            case "attempts": attempts = Int(String(decoding: field.value, as: UTF8.self)) ?? attempts
            default: break
            }
        }
    }
}
