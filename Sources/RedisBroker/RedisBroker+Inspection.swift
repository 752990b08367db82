import Operations
import RedisClient

extension RedisBroker {
    package func queues() async throws -> [String] {
        do {
            try await requireProtocol(isWriting: false)
            let list = RedisCommand("SMEMBERS", keys.queues)
            let reply = try await translated { try await link.send(list).expectArray() }
            return reply.compactMap(\.string).filter(NameRule.allows).sorted()
        } catch let error as OperationsError where isSpread && error.code == .unavailable {
            throw OperationsError(
                .unavailable,
                "the cluster node with the list of queues (key \(keys.queues)) does not answer: \(error.message)"
            )
        }
    }

    package func absentNodes(of queues: [String]) async throws -> [AbsentNode] {
        guard isSpread, !queues.isEmpty else { return [] }
        let absences = try await translated { try await link.absences(of: queues.map(keys.meta)) }
        var nodes: [String: AbsentNode] = [:]
        for (queue, absence) in zip(queues, absences) {
            guard let (node, error) = absence else { continue }
            nodes[node, default: AbsentNode(node: node, queues: [], reason: error.message)].queues.append(queue)
        }
        return nodes.values.sorted { $0.node < $1.node }
    }

    package func details(_ ids: [OperationID], queue: String) async throws -> [OperationDetail?] {
        var details: [OperationDetail?] = []
        while details.count < ids.count {
            let rest = ids.dropFirst(details.count).prefix(SluiceDefaults.batch)
            var arguments = arguments(queue, capacity: 64 + 36 * rest.count)
            for id in rest { arguments.append(id) }
            let rows = try await read(.details, arguments).array ?? []
            // Redis returns large operations a few per call.
            guard !rows.isEmpty else {
                throw OperationsError(.malformed, "the reply about \(rest.count) operations is empty")
            }
            for row in rows { details.append(try OperationDetail(row: row, queue: queue)) }
        }
        return details
    }

    package func page(
        state: OperationState,
        queue: String,
        cursor: String?,
        limit: Int,
        sought: SoughtText?
    ) async throws -> OperationPage {
        if let cursor { try OperationPage.check(cursor: cursor) }
        var arguments = arguments(queue)
        arguments.append([state.code])
        arguments.append(cursor ?? "")
        arguments.append(min(max(limit, 1), OperationPage.limit(sought)))
        for pieces in sought?.values ?? [] {
            arguments.append(pieces.count)
            for piece in pieces { arguments.append(piece) }
        }
        let reply = try await read(.page, arguments).array ?? []
        let next = reply.first?.string ?? ""
        let places = (reply.dropFirst(2).first?.array ?? []).map { $0.string ?? "" }
        // An unreadable operation must not hide the others.
        let rows = zip(reply.dropFirst(3), places).compactMap { row, place in
            ((try? OperationDetail(row: row, queue: queue)) ?? nil).map { (detail: $0, place: place) }
        }
        return OperationPage(
            operations: rows.map(\.detail),
            places: rows.map(\.place),
            leftOut: reply.dropFirst().first?.int ?? 0,
            cursor: next.isEmpty ? nil : next
        )
    }

    package func backlog(aheadOf id: OperationID, queue: String, limit: Int) async throws -> Backlog? {
        var arguments = arguments(queue)
        arguments.append(id)
        arguments.append(min(max(limit, 1), Backlog.limit))
        let numbers = (try await read(.backlog, arguments).array ?? []).compactMap(\.int)
        guard numbers.count == 3 else { return nil }
        return Backlog(inLane: numbers[0], inHigherLanes: numbers[1], isLeast: numbers[2] == 1)
    }

    package func log(
        _ id: OperationID,
        queue: String,
        from line: Int,
        limit: Int
    ) async throws -> (first: Int, lines: [LogLine]) {
        var arguments = arguments(queue)
        arguments.append(id)
        arguments.append(line)
        arguments.append(limit)
        let reply = try await read(.log, arguments).array ?? []
        return (reply.first?.int ?? line, reply.dropFirst().compactMap { $0.bytes.map(LogLine.init(stored:)) })
    }
}

extension LogLine {
    /// Reads a byte 1, nine digits of base 36 and the text. Older versions stored only the text.
    init(stored bytes: [UInt8]) {
        let digits = bytes.dropFirst().prefix(9)
        guard bytes.first == 1, digits.count == 9, let at = Int64(String(decoding: digits, as: UTF8.self), radix: 36)
        else {
            self.init(bytes)
            return
        }
        self.init(Array(bytes.dropFirst(10)), at: at)
    }
}

extension OperationDetail {
    /// Reads a row of `details.lua` or `page.lua`; nil if Redis has no such operation.
    init?(row: RedisValue, queue: String) throws(OperationsError) {
        guard let fields = row.array, fields.count >= 3, let bytes = fields[0].bytes,
            let letter = fields[1].bytes?.first,
            let state = OperationState(code: letter)
        else { return nil }
        let owner = (fields[2].string ?? "").split(separator: " ")
        guard fields.count >= 5 else {
            self.init(queue: queue, record: try Self.untracked(bytes, state, fence: owner.first), state: state)
            worker = owner.count == 2 ? String(owner[1]) : nil
            return
        }
        self.init(queue: queue, record: try OperationRecord(bytes), state: state)
        worker = owner.count == 2 ? String(owner[1]) : nil
        errors = (fields[3].array ?? []).compactMap { $0.bytes.flatMap(FailedAttempt.init(stored:)) }
        read(extras: Extras(fields[4]))
    }

    /// Makes a record from an element, because an untracked operation has no record.
    private static func untracked(
        _ element: [UInt8],
        _ state: OperationState,
        fence: Substring?
    ) throws(OperationsError) -> OperationRecord {
        guard let (header, _) = OperationHeader.salvage(element) else {
            throw OperationsError(.malformed, "an operation's header cannot be read")
        }
        return OperationRecord(
            header: header,
            state: state,
            fence: fence.flatMap { Int64($0) } ?? 0,
            enqueuedAt: header.readyAt,
            envelope: Array(element.dropFirst(OperationHeader.byteCount))
        )
    }

    private mutating func read(extras: Extras) {
        result = extras["result"]
        stored.checkpoint = extras["checkpoint"]
        stored.once = extras.fields(after: "once:")
        if let count = extras.number("snoozes"), let until = extras.number("snoozedUntil") {
            snooze = SnoozeTrace(count: Int(count), until: until, reason: extras.text("snoozeReason"))
        }
        yields = extras.number("yields").map { Int($0) } ?? 0
        recoveries = extras.text("recoveries").split(separator: "\n").reversed().compactMap(Recovery.init(stored:))
        logStarts = extras.text("logAttempts").split(separator: " ").compactMap(LogStart.init(stored:))
        isAwaited = extras["waiters"] != nil
        isUnhandled = extras["unhandled"] != nil
        limitKey = extras["limitKey"].map { String(decoding: $0, as: UTF8.self) }
        waitsForKey = extras["waitsForKey"] != nil
        ranOn = extras["ranOn"].map { String(decoding: $0, as: UTF8.self) }
        progress = extras["progress"].flatMap(Progress.read)
        uniqueKey = extras["unique"].map { String(decoding: $0, as: UTF8.self) }
        waitsForTurn = state == .blocked && extras["turn"] != nil
        links = extras.links
        keyHolder = waitsForTurn ? extras["holder"].flatMap { OperationID(utf8: $0) } : nil
        if state == .blocked, let at = extras.number("heldAt") {
            hold = OperatorTrace(at: at, by: extras.text("heldBy"), reason: extras.text("heldReason"))
        }
        if state == .expired, record.endedAt == 0 { record.endedAt = record.header.expiresAt }
        let stoppedAt = state == .cancelled && record.endedAt > 0 ? record.endedAt : nil
        let forced = OperatorTrace(stored: extras.text("cancelForced")).map {
            CancelTrace.Forced(at: $0.at, by: $0.by, reason: $0.reason, worker: extras.text("cancelForcedWorker"))
        }
        if let at = extras.number("cancelAt") {
            cancel = CancelTrace(
                requestedAt: at,
                acknowledgedAt: extras.number("cancelAcknowledgedAt"),
                stoppedAt: forced == nil ? stoppedAt : extras.number("cancelStoppedAt"),
                reason: extras.text("cancelReason"),
                by: extras.text("cancelBy"),
                forced: forced,
                standing: extras.number("cancelStanding")
            )
        } else if let at = extras.number("queueCancelAt") {
            cancel = CancelTrace(
                requestedAt: at,
                acknowledgedAt: extras.number("cancelAcknowledgedAt"),
                stoppedAt: state == .cancelled ? stoppedAt ?? at : nil,
                reason: extras.text("queueCancelReason"),
                by: extras.text("queueCancelBy")
            )
            if state == .cancelled, record.endedAt == 0 { record.endedAt = at }
        }
    }
}

enum Progress {
    /// Reads "fraction message" as `report` stores it.
    static func read(_ bytes: [UInt8]) -> (fraction: Double, message: String)? {
        let parts = String(decoding: bytes, as: UTF8.self).split(
            separator: " ",
            maxSplits: 1,
            omittingEmptySubsequences: false
        )
        guard let first = parts.first, let fraction = Double(first) else { return nil }
        return (fraction, parts.count > 1 ? String(parts[1]) : "")
    }
}

extension Recovery {
    /// Reads a line of `recoveries.lua`.
    init?(stored: Substring) {
        let parts = stored.split(separator: "\t", omittingEmptySubsequences: false)
        let words = parts[0].split(separator: " ")
        let numbers = words.prefix(4).compactMap { Int64($0) }
        guard parts.count == 3, words.count == 6, numbers.count == 4, let cause = Cause(rawValue: String(words[4]))
        else {
            return nil
        }
        self.init(
            at: numbers[0],
            startedAt: numbers[1],
            attempt: Int(numbers[2]),
            delivery: Int(numbers[3]),
            cause: cause,
            worker: String(words[5])
        )
        (name, host) = (String(parts[1]), String(parts[2]))
    }
}

extension LogStart {
    /// Reads "attempt:line".
    init?(stored: Substring) {
        let numbers = stored.split(separator: ":").compactMap { Int($0) }
        guard numbers.count == 2 else { return nil }
        self.init(attempt: numbers[0], line: numbers[1])
    }
}

extension FailedAttempt {
    /// Reads "milliseconds JSON".
    init?(stored bytes: [UInt8]) {
        guard let space = bytes.firstIndex(of: UInt8(ascii: " ")),
            let at = Int64(String(decoding: bytes[..<space], as: UTF8.self))
        else { return nil }
        self.init(at: at, error: Array(bytes[(space + 1)...]))
    }
}

/// The fields of a hash, as HGETALL returns them.
struct Extras {
    private var fields: [String: [UInt8]] = [:]

    init(_ reply: RedisValue) {
        let values = reply.array ?? []
        for index in stride(from: 0, to: values.count - 1, by: 2) {
            if let field = values[index].string { fields[field] = values[index + 1].bytes }
        }
    }

    subscript(field: String) -> [UInt8]? { fields[field] }
    /// The fields whose names begin with a text, named without that text.
    func fields(after beginning: String) -> [String: [UInt8]] {
        fields.reduce(into: [:]) { found, field in
            if field.key.hasPrefix(beginning) { found[String(field.key.dropFirst(beginning.count))] = field.value }
        }
    }
    func text(_ field: String) -> String { fields[field].map { String(decoding: $0, as: UTF8.self) } ?? "" }
    func number(_ field: String) -> Int64? { Int64(text(field)) }
    var texts: [String: String] { fields.mapValues { String(decoding: $0, as: UTF8.self) } }
    var numbers: [String: Int64] { fields.compactMapValues { Int64(String(decoding: $0, as: UTF8.self)) } }
}

extension Array {
    func chunks(of size: Int) -> [ArraySlice<Element>] {
        stride(from: 0, to: count, by: size).map { self[$0..<Swift.min($0 + size, count)] }
    }
}
