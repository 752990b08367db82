import Foundation
import Operations
import RedisClient

extension RedisBroker: BrokerAudit {
    package func auditQueue(_ queue: String) async throws -> QueueAudit {
        let fields = try await audit(scripts[.auditQueue], arguments(queue), count: 9)
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
        queue: String
    ) async throws -> PlaceAudit {
        var arguments = arguments(queue)
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

    package func auditRecords(_ ids: [String], queue: String) async throws -> RecordsAudit {
        var arguments = arguments(queue, capacity: 64 + 36 * ids.count)
        for id in ids { arguments.append(id) }
        let fields = try await audit(scripts[.auditRecords], arguments, count: 1)
        var audit = RecordsAudit(findings: fields[0].findings(queue), ready: [:])
        for index in stride(from: 1, to: fields.count - 1, by: 2) {
            if let id = fields[index].string { audit.ready[id] = fields[index + 1].bytes }
        }
        return audit
    }

    /// The cursor is the server's own behind the mark of the server. While slots are on their way from one to another, a walk may
    /// miss some keys, or see them twice.
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
        audit.info = Self.fields(of: try await ask(part, "INFO", "all")?.string ?? "")
        audit.user = try await ask(part, "ACL", "WHOAMI")?.string
        for parameter in ["save", "appendonly", "appendfsync", "maxmemory", "maxmemory-policy", "maxclients"] {
            guard let reply = try await ask(part, "CONFIG", "GET", parameter)?.array, reply.count == 2 else { continue }
            audit.configuration[parameter] = reply[1].string
        }
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

    /// One command; nil where this user may not send it.
    private func ask(_ part: RedisPart, _ words: String...) async throws -> RedisValue? {
        var command = RedisCommand(words[0])
        for word in words.dropFirst() { command.append(word) }
        do {
            return try await link.send(command, to: part).expectSuccess()
        } catch let error as RedisError {
            guard error.serverError != nil else { throw OperationsError(error) }
            return nil
        }
    }

    package func memory() async throws -> [ServerMemory] {
        try await translated {
            var servers: [ServerMemory] = []
            for part in try await link.parts() {
                let reply = try await link.send(RedisCommand("INFO", "memory"), to: part).expectSuccess()
                let info = Self.fields(of: reply.string ?? "")
                servers.append(
                    ServerMemory(
                        server: part.name,
                        used: info["used_memory"].flatMap { Int64($0) } ?? 0,
                        limit: info["maxmemory"].flatMap { Int64($0) } ?? 0,
                        policy: info["maxmemory_policy"] ?? ""
                    )
                )
            }
            return servers
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

    package func repairCommand(_ repair: String) -> String {
        let command =
            if case .sentinels = link.endpoint.address { "redis-cli -h MASTER" } else { link.endpoint.redisCLI }
        let database = link.endpoint.database == 0 ? "" : " -n \(link.endpoint.database)"
        return repair.split(separator: "&&")
            .map { "\(command)\(database) " + $0.trimmingPrefix { $0 == " " } }
            .joined(separator: "&& ")
    }
}

extension RedisBroker {
    package func lostReady(_ id: OperationID, head: [UInt8], queue: String) -> AuditFinding {
        let header = String(decoding: head.prefix(OperationHeader.byteCount), as: UTF8.self)
        let lane = String(decoding: head.dropFirst(2).prefix(1), as: UTF8.self)
        return AuditFinding(
            code: "lost",
            queue: queue,
            subject: id.description,
            detail: "its record says ready, but no lane has its reference",
            repair: "RPUSH '\(keys.lane(queue, lane))' \(header)"
        )
    }

    package func wrongStaleCount(counter: Int, lanes: Int, queue: String) -> AuditFinding {
        AuditFinding(
            code: "counter",
            queue: queue,
            subject: "stale",
            detail:
                "the counter says \(counter) left behind, the lanes have \(lanes): the number of ready ones is wrong",
            repair: "HINCRBY '\(keys.totals(queue))' stale \(lanes - counter)"
        )
    }

    package func unknownQueue(_ queue: String) -> AuditFinding {
        AuditFinding(
            code: "unregistered",
            queue: queue,
            subject: queue,
            detail: "has keys, but the namespace does not know it: no list shows it",
            repair: "SADD '\(keys.queues)' '\(queue)'"
        )
    }
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
                repair: fields[3]
            )
        }
    }
}

extension QueueAudit {
    /// In the order of `audit_queue.lua`.
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
        self = words[0] == "keyed" ? .keyed(words[1]) : .running(key: words[1])
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
