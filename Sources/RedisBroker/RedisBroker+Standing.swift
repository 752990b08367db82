import Operations
import RedisClient

extension RedisBroker {
    package func setStandingCancel(_ new: NewStandingCancel, queue: String) async throws -> (id: Int64, endsAt: Int64)?
    {
        try await requireProtocol(isWriting: false)
        var arguments = arguments(queue, capacity: 256 + new.query.utf8.count)
        arguments.append(new.by.oneWord)
        arguments.append(new.milliseconds)
        arguments.append(new.query)
        arguments.append(new.reason.oneLine)
        arguments.append(StandingCancel.limit)
        let reply = try await evaluate(scripts[.standingSet], arguments).array ?? []
        guard reply.count == 2, let id = reply[0].int, let endsAt = reply[1].int else { return nil }
        return (Int64(id), Int64(endsAt))
    }

    package func removeStandingCancels(
        _ ids: [Int64]?,
        by: String,
        queue: String
    ) async throws -> [Int64] {
        guard ids?.isEmpty != true else { return [] }
        try await requireProtocol(isWriting: false)
        var arguments = arguments(queue)
        arguments.append(by.oneWord)
        for id in ids ?? [] { arguments.append(id) }
        let reply = try await evaluate(scripts[.standingRemove], arguments).array ?? []
        return reply.compactMap { $0.int.map(Int64.init) }
    }

    package func standingCancels(queue: String) async throws -> StandingCancels {
        let reply = try await read(.standingRead, arguments(queue)).array ?? []
        guard reply.count >= 2, let time = reply[0].int, let revision = reply[1].int else {
            throw OperationsError(.malformed, "the list of standing cancels cannot be read")
        }
        let cancels = stride(from: 2, to: reply.count - 6, by: 7).compactMap {
            StandingCancel(Array(reply[$0..<$0 + 7]))
        }
        return StandingCancels(time: Int64(time), revision: Int64(revision), cancels: cancels)
    }
}

extension StandingCancel {
    fileprivate init?(_ fields: [RedisValue]) {
        guard let id = fields[0].int, let endsAt = fields[1].int, let setAt = fields[2].int,
            let cancelled = fields[6].int
        else { return nil }
        self.init(
            id: Int64(id),
            query: fields[4].string ?? "",
            endsAt: Int64(endsAt),
            setAt: Int64(setAt),
            by: fields[3].string ?? "",
            reason: fields[5].string ?? "",
            cancelled: Int64(cancelled)
        )
    }
}
