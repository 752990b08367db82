import Operations
import RedisClient

extension RedisBroker {
    private func changeArguments(_ id: OperationID?, _ capacity: Int = 0) -> RedisArguments {
        var arguments = RedisArguments(keys: [keys.changes], capacity: 128 + capacity)
        arguments.append(id?.description ?? "")
        return arguments
    }

    package func addChange(_ id: OperationID, definition: [UInt8], progress: [UInt8]) async throws -> Bool {
        try await requireProtocol(isWriting: false)
        var arguments = changeArguments(id, definition.count + progress.count)
        arguments.append(definition)
        arguments.append(progress)
        arguments.append(StoredChange.openLimit)
        arguments.append(StoredChange.kept)
        return try await evaluate(scripts[.addChange], arguments).int == 1
    }

    package func takeChange(leaseMilliseconds: Int64) async throws -> StoredChange? {
        try await requireProtocol(isWriting: false)
        var arguments = RedisArguments(keys: [keys.changes], capacity: 64)
        arguments.append(leaseMilliseconds)
        var fields = try await evaluate(scripts[.takeChange], arguments).array ?? []
        guard !fields.isEmpty else { return nil }
        fields.insert(.bytes(Array("o".utf8)), at: 1)
        return try StoredChange(fields)
    }

    package func saveChange(
        _ id: OperationID,
        fence: Int64,
        progress: [UInt8],
        isEnd: Bool,
        leaseMilliseconds: Int64
    ) async throws -> ChangeSaving {
        var arguments = changeArguments(id, progress.count)
        arguments.append(fence)
        arguments.append(progress)
        arguments.append(isEnd ? "e" : "o")
        arguments.append(leaseMilliseconds)
        let reply = try await evaluate(scripts[.saveChange], arguments).int
        return reply.flatMap(ChangeSaving.init) ?? .lost
    }

    package func stopChange(_ id: OperationID, by: String) async throws -> Bool {
        try await requireProtocol(isWriting: false)
        var arguments = changeArguments(id)
        arguments.append(by.oneWord)
        return try await evaluate(scripts[.stopChange], arguments).int == 1
    }

    package func changes(_ id: OperationID?) async throws -> StoredChanges {
        try await requireProtocol(isWriting: false)
        let reply = try await read(.changes, changeArguments(id)).array ?? []
        guard let time = reply.first?.int else {
            throw OperationsError(.malformed, "the list of changes cannot be read")
        }
        let changes = try stride(from: 1, to: reply.count - 7, by: 8).map {
            try StoredChange(Array(reply[$0..<$0 + 8]))
        }
        return StoredChanges(time: Int64(time), changes: changes)
    }
}

extension StoredChange {
    fileprivate init(_ fields: [RedisValue]) throws {
        guard fields.count == 8, let id = fields[0].string.flatMap({ OperationID($0) }), let fence = fields[2].int,
            let lease = fields[3].int, let createdAt = fields[4].int, let definition = fields[6].bytes,
            let progress = fields[7].bytes
        else { throw OperationsError(.malformed, "a stored change cannot be read") }
        let stopper = fields[5].string ?? ""
        self.init(
            id: id,
            isEnded: fields[1].string == "e",
            fence: Int64(fence),
            leaseEndsAt: Int64(lease),
            createdAt: Int64(createdAt),
            stopper: stopper.isEmpty ? nil : stopper,
            definition: definition,
            progress: progress
        )
    }
}
