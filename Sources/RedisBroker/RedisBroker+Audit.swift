import Foundation
import Operations
import RedisClient

extension RedisBroker: BrokerAudit {
    package func auditQueue(_ queue: String, fixing codes: Set<String>) async throws -> QueueAudit {
        var arguments = arguments(queue)
        arguments.append(Self.inBlanks(codes))
        let fields = try await audit(scripts[.auditQueue], arguments, count: 9)
        var audit = QueueAudit(
            queue: queue,
            time: Int64(fields[0].int ?? 0),
            workerCount: fields[1].int ?? 0
        )
        let meta = fields[2].array ?? []
        for index in stride(from: 0, to: meta.count - 1, by: 2) {
            if let field = meta[index].string { audit.meta[field] = meta[index + 1].string }
        }
        audit.totals = Extras(fields[3]).numbers
        audit.read(sizes: (fields[4].array ?? []).map { $0.int ?? 0 })
        audit.workers = Array(fields[5].array ?? []).chunks(of: 3).compactMap(QueueAudit.Worker.init)
        audit.findings = fields[6].findings(queue)
        audit.unhandled = (fields[7].array ?? []).compactMap(\.string)
        audit.keyPlaces = (fields[8].array ?? []).compactMap(\.string).compactMap(AuditPlace.init(ofKey:))
        return audit
    }

    package func auditPlace(
        _ place: AuditPlace,
        cursor: String?,
        limit: Int,
        queue: String,
        fixing codes: Set<String>
    ) async throws -> PlaceAudit {
        var arguments = arguments(queue)
        arguments.append(Self.inBlanks(codes))
        arguments.append(place.description)
        arguments.append(cursor ?? "0")
        arguments.append(limit)
        let fields = try await audit(scripts[.auditPlace], arguments, count: 4)
        return PlaceAudit(
            cursor: fields[0].string.flatMap { $0 == "0" ? nil : $0 },
            looked: fields[1].int ?? 0,
            stale: fields[2].int ?? 0,
            findings: fields[3].findings(queue),
            live: fields.dropFirst(4).compactMap(\.string)
        )
    }

    package func auditRecords(_ ids: [String], queue: String, fixing codes: Set<String>) async throws -> RecordsAudit {
        var arguments = arguments(queue, capacity: 128 + 36 * ids.count)
        arguments.append(Self.inBlanks(codes))
        for id in ids { arguments.append(id) }
        let fields = try await audit(scripts[.auditRecords], arguments, count: 1)
        var audit = RecordsAudit(findings: fields[0].findings(queue), ready: [:])
        for index in stride(from: 1, to: fields.count - 1, by: 2) {
            if let id = fields[index].string { audit.ready[id] = fields[index + 1].bytes }
        }
        return audit
    }

    private static func inBlanks(_ codes: Set<String>) -> String {
        codes.isEmpty ? "" : " \(codes.sorted().joined(separator: " ")) "
    }

    /// Reads a part of the keys. The cursor is the server's mark and the server's own cursor. While slots move between
    /// servers, a walk may miss keys or see them twice.
    package func auditKeys(cursor: String?, limit: Int) async throws -> KeyAudit {
        try await translated {
            let words = cursor?.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
            let mark = if let words { words[0] } else { try await link.parts().first?.mark ?? "" }
            let (part, next) = try await link.part(mark)
            let command = RedisCommand("SCAN", words?[1] ?? "0", "MATCH", keys.pattern, "COUNT", String(limit))
            let reply = try await link.send(command, to: part).expectArray("a part of the keys")
            let position = reply.first?.string ?? "0"
            return KeyAudit(
                cursor: position == "0" ? next.map { "\($0.mark):0" } : "\(part.mark):\(position)",
                keys: (reply.last?.array ?? []).compactMap(\.string).compactMap { name in
                    keys.classify(name).map { KeyAudit.Key(queue: $0.queue, kind: $0.kind, name: name) }
                }
            )
        }
    }

    private func audit(_ script: RedisScript, _ arguments: RedisArguments, count: Int) async throws -> [RedisValue] {
        guard let fields = try await evaluate(script, arguments).array, fields.count >= count else {
            throw OperationsError(.malformed, "the reply of an audit cannot be read")
        }
        return fields
    }
}

// MARK: - The server

extension RedisBroker {
    package func auditServers() async throws -> [ServerAudit] {
        var audits: [ServerAudit] = []
        for part in try await translated({ try await link.parts() }) { audits.append(try await audit(part)) }
        return audits
    }

    private func audit(_ part: RedisPart) async throws -> ServerAudit {
        var audit = ServerAudit()
        audit.name = part.name
        audit.hiredisVersion = HiredisVersion.text
        audit.info = try await info(of: part, "all")
        audit.user = try await ask(part, "ACL", "WHOAMI")?.string
        let parameters = [
            "save", "appendonly", "appendfsync", "maxmemory", "maxmemory-policy", "maxclients", "min-replicas-to-write",
            "stop-writes-on-bgsave-error",
        ]
        try await read(parameters, of: part, into: &audit)
        let sentAt = Date()
        if let time = try await ask(part, "TIME")?.array, let seconds = time.first?.int, let micros = time.last?.int {
            let roundTrip = Date().timeIntervalSince(sentAt)
            let here = (sentAt.timeIntervalSince1970 + roundTrip / 2) * 1000
            audit.clockAhead = Int64(seconds) * 1000 + Int64(micros) / 1000 - Int64(here)
            audit.roundTripMilliseconds = Int64(roundTrip * 1000)
        }
        return audit
    }

    package func auditListening(queue: String) async throws -> String? {
        let endpoint = link.endpoint
        let commands = [
            RedisCommand("SUBSCRIBE", keys.events(queue)), RedisCommand("SUBSCRIBE", keys.control(queue)),
        ]
        let timeout = configuration.connectTimeout
        return try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(
                    with: Result { try RedisProbe.ask(endpoint, commands, timeout: timeout) }
                        .map { $0.lazy.compactMap(\.error).first?.message }
                )
            }
        }
    }

    /// Sends one command; nil if Redis refuses it. Redis logs each refusal, so a forbidden command is not sent again.
    private func ask(_ part: RedisPart, _ words: String...) async throws -> RedisValue? {
        guard !forbidden.withLock({ $0.contains(words[0]) }) else { return nil }
        var command = RedisCommand(words[0])
        for word in words.dropFirst() { command.append(word) }
        do {
            return try await link.send(command, to: part).expectSuccess()
        } catch let error as RedisError {
            guard let serverError = error.serverError else { throw OperationsError(error) }
            if serverError.code == .noPermission { _ = forbidden.withLock { $0.insert(words[0]) } }
            return nil
        }
    }

    /// Uses INFO alone, because CONFIG GET would also reveal the server's passwords to a monitor.
    package func writeRefusals() async throws -> [WriteRefusal] {
        var refusals: [WriteRefusal] = []
        for part in try await translated({ try await link.connectedParts() }) {
            var audit = ServerAudit()
            audit.name = part.name
            audit.info = try await info(of: part, "default")
            refusals += audit.writeRefusals
        }
        return refusals
    }

    /// The fields of INFO, with the state of the cluster if the server belongs to one.
    private func info(of part: RedisPart, _ section: String) async throws -> [String: String] {
        var info = Self.fields(of: try await ask(part, "INFO", section)?.string ?? "")
        guard info["cluster_enabled"] == "1" else { return info }
        let cluster = Self.fields(of: try await ask(part, "CLUSTER", "INFO")?.string ?? "")
        info["cluster_state"] = cluster["cluster_state"]
        return info
    }

    private func read(_ parameters: [String], of part: RedisPart, into audit: inout ServerAudit) async throws {
        for parameter in parameters {
            guard let reply = try await ask(part, "CONFIG", "GET", parameter)?.array, reply.count == 2 else { continue }
            audit.configuration[parameter] = reply[1].string
        }
    }

    private static func fields(of info: String) -> [String: String] {
        var fields: [String: String] = [:]
        for line in info.split(whereSeparator: \.isNewline) {
            let parts = line.split(separator: ":", maxSplits: 1).map(String.init)
            if parts.count == 2 { fields[parts[0]] = parts[1] }
        }
        return fields
    }
}

// MARK: - Fixes

extension RedisBroker {
    package func returnLost(_ id: OperationID, head: [UInt8], queue: String) async throws -> Bool {
        var arguments = arguments(queue)
        arguments.append(id.description)
        arguments.append(head)
        return try await evaluate(scripts[.returnLost], arguments).string == "1"
    }

    package func setStale(_ count: Int, of queue: QueueAudit) async throws -> Bool {
        var arguments = arguments(queue.queue)
        arguments.append(queue.meta["fence"] ?? "")
        arguments.append(queue.meta["sequence"] ?? "")
        arguments.append(Int(queue.totals["stale"] ?? 0))
        arguments.append(count)
        return try await evaluate(scripts[.setStale], arguments).string == "1"
    }

    package func register(queue: String) async throws { try await register(queue) }
}

// MARK: - Replies

extension RedisValue {
    fileprivate func findings(_ queue: String) -> [AuditFinding] {
        (array ?? []).compactMap { finding in
            let fields = (finding.array ?? []).map { $0.string ?? "" }
            guard fields.count == 4 else { return nil }
            return AuditFinding(
                code: fields[0],
                queue: queue,
                subject: fields[1],
                detail: fields[2],
                fix: fields[3]
            )
        }
    }
}

extension QueueAudit {
    /// Reads the sizes in the order of `audit_queue.lua`.
    fileprivate mutating func read(sizes values: [Int]) {
        let places: [AuditPlace] =
            (0...4).map { .lane($0) } + [.scheduled, .retrying, .blocked, .expiring]
            + [.ended(.finished), .ended(.dead), .ended(.cancelled), .ended(.expired)]
        for (place, size) in zip(places, values) { sizes[place] = size }
        let rest = Array(values.dropFirst(places.count))
        guard rest.count == 3 else { return }
        (batches, intents, awaited) = (rest[0], rest[1], rest[2])
    }
}

extension AuditPlace {
    /// Reads a place of a limit key as `audit_queue.lua` spells it.
    fileprivate init?(ofKey text: String) {
        let words = text.split(separator: ":", maxSplits: 1).map(String.init)
        guard words.count == 2 else { return nil }
        switch words[0] {
        case "keyed": self = .keyed(words[1])
        case "next": self = .next(words[1])
        default: self = .running(key: words[1])
        }
    }
}

extension QueueAudit.Worker {
    fileprivate init?(_ fields: ArraySlice<RedisValue>) {
        let fields = Array(fields)
        guard fields.count == 3, let id = fields[0].string, let until = fields[1].int, let held = fields[2].int else {
            return nil
        }
        self.init(id: id, leaseUntil: Int64(until), held: held)
    }
}
