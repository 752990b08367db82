import Operations
import RedisClient

extension RedisBroker {
    private func changeArguments(_ id: OperationID?, _ capacity: Int = 0) -> RedisArguments {
        var arguments = RedisArguments(keys: [keys.changes], capacity: 128 + capacity)
        arguments.append(id?.description ?? "")
        return arguments
    }

    package func addChange(_ id: OperationID, definition: [UInt8], progress: [UInt8]) async throws -> ChangeAdding {
        try await requireProtocol(isWriting: false)
        var arguments = changeArguments(id, definition.count + progress.count)
        arguments.append(definition)
        arguments.append(progress)
        arguments.append(StoredChange.openLimit)
        arguments.append(StoredChange.kept)
        return try await evaluate(scripts[.addChange], arguments).int.flatMap(ChangeAdding.init) ?? .full
    }

    package func nextChange(leaving left: Set<OperationID>) async throws -> StoredChange? {
        try await requireProtocol(isWriting: false)
        var arguments = RedisArguments(keys: [keys.changes], capacity: 64 + 36 * left.count)
        for id in left { arguments.append(id) }
        return StoredChange(try await read(.nextChange, arguments).array ?? [])
    }

    package func takeChange(_ id: OperationID, fence: Int64, leaseMilliseconds: Int64) async throws -> StoredChange? {
        try await requireProtocol(isWriting: false)
        var arguments = changeArguments(id)
        arguments.append(fence)
        arguments.append(leaseMilliseconds)
        return StoredChange(try await evaluate(scripts[.takeChange], arguments).array ?? [])
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

    package func removeChange(_ id: OperationID) async throws -> Bool {
        try await requireProtocol(isWriting: false)
        return try await evaluate(scripts[.removeChange], changeArguments(id)).int == 1
    }

    package func changes(_ id: OperationID?) async throws -> StoredChanges {
        try await requireProtocol(isWriting: false)
        let reply = try await read(.changes, changeArguments(id)).array ?? []
        guard let time = reply.first?.int else {
            throw OperationsError(.malformed, "the list of changes cannot be read")
        }
        let changes = stride(from: 1, to: reply.count - 7, by: 8).compactMap { start in
            StoredChange(Array(reply[start..<start + 7]), state: reply[start + 7].string ?? "")
        }
        return StoredChanges(time: Int64(time), changes: changes)
    }
}

extension StoredChange {
    /// Reads what `change_row` of `change_heads.lua` returns; nil if the id is no id, or if there are no fields.
    fileprivate init?(_ fields: [RedisValue], state: String = "o") {
        guard fields.count == 7, let id = fields[0].string.flatMap({ OperationID($0) }) else { return nil }
        let stopper = fields[4].string ?? ""
        self.init(
            id: id,
            isEnded: state == "e",
            fence: Int64(fields[1].int ?? 0),
            leaseEndsAt: Int64(fields[2].int ?? 0),
            createdAt: Int64(fields[3].int ?? 0),
            stopper: stopper.isEmpty ? nil : stopper,
            definition: fields[5].bytes ?? [],
            progress: fields[6].bytes ?? []
        )
        isReadable = state != "?"
    }
}
