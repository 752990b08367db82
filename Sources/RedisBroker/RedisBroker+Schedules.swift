import Operations
import RedisClient

extension RedisBroker {
    package func schedules(queue: String, after id: String?) async throws -> SchedulePage {
        try await readSchedules("page", id ?? "", StoredSchedule.pageLimit, queue)
    }

    package func schedule(_ id: String, queue: String) async throws -> SchedulePage {
        try await readSchedules("one", id, 1, queue)
    }

    package func dueSchedules(queue: String) async throws -> SchedulePage {
        try await readSchedules("due", "", StoredSchedule.dueLimit, queue)
    }

    private func readSchedules(_ which: String, _ id: String, _ limit: Int, _ queue: String) async throws
        -> SchedulePage
    {
        var arguments = arguments(queue)
        arguments.append(which)
        arguments.append(id)
        arguments.append(limit)
        let reply = try await read(.schedules, arguments).array ?? []
        let fields = 5
        guard reply.count >= 3, reply.count % fields == 3, let time = reply[0].int else {
            throw OperationsError(.malformed, "the list of schedules has an unknown form; run: sluice doctor")
        }
        return SchedulePage(
            time: Int64(time),
            schedules: stride(from: 3, to: reply.count, by: fields).compactMap {
                StoredSchedule(Array(reply[$0..<$0 + fields]))
            },
            more: reply[2].string == "1",
            nextMilliseconds: reply[1].int.map(Int64.init)
        )
    }

    package func setSchedule(_ change: ScheduleChange, by: String, queue: String) async throws -> ScheduleOutcome {
        try await register(queue)
        var definition: [UInt8] = []
        if case .set(let bytes) = change.kind { definition = bytes }
        var arguments = arguments(queue, capacity: 512 + definition.count)
        arguments.append(by.oneWord)
        arguments.append(change.verb.rawValue)
        arguments.append(change.id)
        arguments.append(change.revision)
        arguments.append(change.due.map { "\($0)" } ?? "")
        arguments.append(change.isPaused ? 1 : 0)
        arguments.append(definition)
        arguments.append(change.detail.oneLine)
        arguments.append(StoredSchedule.limit)
        switch try await evaluate(scripts[.setSchedule], arguments).int {
        case -1: return .full
        case let revision? where revision > 0: return .done(revision: Int64(revision))
        default: return .outdated
        }
    }

    package func removeSchedule(_ id: String, by: String, queue: String) async throws -> Bool {
        try await requireProtocol(isWriting: false)
        var arguments = arguments(queue)
        arguments.append(by.oneWord)
        arguments.append(id)
        return try await evaluate(scripts[.removeSchedule], arguments).int == 1
    }

    package func fire(_ firing: ScheduleFiring, queue: String) async throws -> FiringReply {
        let operation = firing.operation
        var arguments = arguments(queue, capacity: 512 + (operation?.bodyByteCount ?? 0))
        arguments.append(firing.id)
        arguments.append(firing.instant)
        arguments.append(firing.revision)
        arguments.append(firing.next.map { "\($0)" } ?? "")
        arguments.append(firing.hasMissed ? 1 : 0)
        arguments.append(firing.fault?.oneLine ?? "")
        if let operation { appendGroups(of: [operation], to: &arguments) }
        let reply = try await evaluate(scripts[.fireSchedule], arguments).array ?? []
        return FiringReply(isDone: reply.first?.int == 1, nextMilliseconds: reply.last?.int.map(Int64.init))
    }
}

extension StoredSchedule {
    fileprivate init?(_ fields: [RedisValue]) {
        let head = (fields[1].string ?? "").split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        guard let id = fields[0].string, head.count == 4, let revision = Int64(head[0]), let changedAt = Int64(head[2])
        else { return nil }
        self.init(
            id: id,
            revision: revision,
            isPaused: head[1] == "1",
            changedAt: changedAt,
            changedBy: head[3],
            definition: fields[2].bytes ?? [],
            due: fields[4].int.map(Int64.init),
            runs: Runs(stored: fields[3].string ?? "")
        )
    }
}

extension StoredSchedule.Runs {
    /// Reads "number of runs, last instant, its operation's id, last missed instant, last instant that
    /// overlapped". After a line feed comes the reason why the schedule has stopped.
    fileprivate init(stored: String) {
        self.init()
        let lines = stored.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let words = lines[0].split(separator: " ").map(String.init)
        guard words.count == 5 else { return }
        enqueued = Int64(words[0]) ?? 0
        if let instant = Int64(words[1]), instant > 0 { last = (instant, words[2]) }
        missedAt = Int64(words[3]).flatMap { $0 > 0 ? $0 : nil }
        overlappedAt = Int64(words[4]).flatMap { $0 > 0 ? $0 : nil }
        fault = lines.count == 2 && !lines[1].isEmpty ? lines[1] : nil
    }
}

extension ScheduleSummary {
    /// Reads META 'schedules': "number of schedules, next instant or 0, worker that owns the timer".
    init(stored: String) {
        let words = stored.split(separator: " ").map(String.init)
        guard words.count >= 2, let count = Int(words[0]), let next = Int64(words[1]) else {
            self.init()
            return
        }
        self.init(count: count, next: next > 0 ? next : nil)
    }
}
