import Operations
import RedisClient

extension RedisBroker {
    package func cancel(_ ids: [OperationID], request: CancelRequest, queue: String) async throws -> [CancelOutcome] {
        try await requireProtocol(isWriting: false)
        var outcomes: [CancelOutcome] = []
        for chunk in ids.chunks(of: SluiceDefaults.batch) {
            var arguments = arguments(queue, capacity: 128 + 36 * chunk.count)
            arguments.append(request.by.oneWord)
            arguments.append(request.reason.oneLine)
            arguments.append(request.storesIntent ? 1 : 0)
            arguments.append(request.isForced ? 1 : 0)
            for id in chunk { arguments.append(id) }
            let reply = try await evaluate(scripts[.cancel], arguments).array ?? []
            var answers = reply.prefix(2 * chunk.count).pairs.map { CancelOutcome(code: $0, detail: $1) }
            let missing = zip(chunk, answers).filter { if case .unknown = $1 { true } else { false } }.map(\.0)
            let workers = reply.dropFirst(2 * chunk.count).compactMap(\.string)
            let owners = try await cancelHeld(missing, by: workers, request, queue)
            for (index, id) in zip(answers.indices, chunk) {
                if let worker = owners[id.description] {
                    answers[index] = request.isForced ? .forced(worker: worker) : .requested(worker: worker)
                }
            }
            outcomes += answers
        }
        return outcomes
    }

    /// Searches the operations that workers hold for ids without a record, a part of them in each call. Requests the
    /// cancel of each that is found.
    ///
    /// - Returns: the workers that hold the found operations, by id.
    private func cancelHeld(
        _ ids: [OperationID],
        by workers: [String],
        _ request: CancelRequest,
        _ queue: String
    ) async throws -> [String: String] {
        var owners: [String: String] = [:]
        var (rest, cursor) = (workers[...], "0")
        while owners.count < Set(ids).count, !rest.isEmpty {
            let missing = ids.filter { owners[$0.description] == nil }
            var arguments = arguments(queue, capacity: 128 + 36 * missing.count + 64 * rest.count)
            arguments.append(request.by.oneWord)
            arguments.append(request.reason.oneLine)
            arguments.append(missing.count)
            arguments.append(cursor)
            arguments.append(request.isForced ? 1 : 0)
            for id in missing { arguments.append(id) }
            for worker in rest { arguments.append(worker) }
            let reply = try await evaluate(scripts[.cancelHeld], arguments).array ?? []
            for (id, worker) in reply.dropFirst(2).pairs { owners[id] = worker }
            rest = rest.dropFirst(reply.first?.int ?? rest.count)
            cursor = reply.dropFirst().first?.string ?? "0"
        }
        return owners
    }

    package func cancelQueue(_ queue: String, request: CancelRequest) async throws -> (waiting: Int, executing: Int) {
        try await requireProtocol(isWriting: false)
        var arguments = arguments(queue)
        arguments.append(request.by.oneWord)
        arguments.append(request.reason.oneLine)
        let reply = try await evaluate(scripts[.cancelQueue], arguments).array ?? []
        return (reply.first?.int ?? 0, reply.last?.int ?? 0)
    }

    package func retry(
        _ ids: [OperationID],
        delays: [Int64],
        by: String,
        queue: String
    ) async throws -> [ChangeOutcome] {
        guard !delays.isEmpty else { return try await change(scripts[.retry], ids, by, queue) }
        let words = zip(ids, delays).map { $1 > 0 ? "\($0) \($1)" : "\($0)" }
        return try await change(scripts[.retry], words, by, queue) { $0.append($1) }
    }

    package func remove(_ ids: [OperationID], by: String, queue: String) async throws -> [ChangeOutcome] {
        try await change(scripts[.remove], ids, by, queue)
    }

    package func edit(_ edits: [OperationEdit], by: String, queue: String) async throws -> [EditOutcome] {
        try await requireProtocol(isWriting: false)
        var outcomes: [EditOutcome] = []
        for chunk in edits.chunks(of: SluiceDefaults.trackedBatch) {
            var arguments = arguments(queue, capacity: 1 << 14)
            arguments.append(by.oneWord)
            for edit in chunk {
                let header = edit.record.header
                arguments.append(header.id)
                var bytes: [UInt8] = []
                header.write(into: &bytes)
                arguments.append(bytes)
                arguments.append(edit.envelope == nil ? [] : edit.record.envelope)
                arguments.append(edit.priority.map { "\($0.lane)" } ?? "")
                arguments.append(edit.delayMilliseconds.map { "\(max(0, $0))" } ?? "")
                arguments.append(edit.envelope ?? [])
            }
            outcomes += (try await evaluate(scripts[.edit], arguments).bytes ?? []).map { mark in
                if mark == UInt8(ascii: "1") { return .done }
                if mark == UInt8(ascii: "~") { return .outdated }
                return OperationState(code: mark).map { .refused($0) } ?? .unknown
            }
        }
        return outcomes
    }

    package func purge(_ queue: String, by: String, from progress: PurgeProgress?) async throws -> PurgeProgress {
        try await requireProtocol(isWriting: false)
        var arguments = arguments(queue)
        arguments.append(by.oneWord)
        arguments.append(progress.map { "\($0.sequence)" } ?? "")
        arguments.append(progress?.place ?? 1)
        arguments.append(progress?.passed ?? 0)
        arguments.append(progress?.removed ?? 0)
        let reply = (try await evaluate(scripts[.purge], arguments).array ?? []).map { $0.int ?? 0 }
        guard reply.count == 4 else {
            throw OperationsError(.malformed, "the reply to a purge has an unknown form; run: sluice doctor")
        }
        return PurgeProgress(
            removed: (progress?.removed ?? 0) + reply[0],
            sequence: Int64(reply[1]),
            place: reply[2],
            passed: reply[3]
        )
    }

    package func hold(_ ids: [OperationID], by: String, reason: String, queue: String) async throws -> [ChangeOutcome] {
        try await change(scripts[.hold], ids, by, queue, reason: reason)
    }

    package func release(_ ids: [OperationID], by: String, queue: String) async throws -> [ChangeOutcome] {
        // The last chunk goes first, so that the operations stand in their order at the head of a lane.
        var outcomes: [ChangeOutcome] = []
        for chunk in ids.chunks(of: SluiceDefaults.batch).reversed() {
            outcomes = try await change(scripts[.release], Array(chunk), by, queue) + outcomes
        }
        return outcomes
    }

    /// - Parameter reason: nil if the script takes no reason.
    private func change(
        _ script: RedisScript,
        _ ids: [OperationID],
        _ by: String,
        _ queue: String,
        reason: String? = nil
    ) async throws -> [ChangeOutcome] {
        try await change(script, ids, by, queue, reason: reason) { $0.append($1) }
    }

    private func change<Word>(
        _ script: RedisScript,
        _ words: [Word],
        _ by: String,
        _ queue: String,
        reason: String? = nil,
        append: (inout RedisArguments, Word) -> Void
    ) async throws -> [ChangeOutcome] {
        try await requireProtocol(isWriting: false)
        var outcomes: [ChangeOutcome] = []
        for chunk in words.chunks(of: SluiceDefaults.batch) {
            var arguments = arguments(queue, capacity: 128 + 36 * chunk.count)
            arguments.append(by.oneWord)
            if let reason { arguments.append(reason.oneLine) }
            for word in chunk { append(&arguments, word) }
            let answer = MarkedAnswer(try await evaluate(script, arguments).bytes ?? [])
            outcomes += try answer.outcomes { mark, id throws(OperationsError) -> ChangeOutcome in
                if mark == UInt8(ascii: "1") { return .done }
                if mark == UInt8(ascii: "k") { return .taken(by: try id()) }
                return OperationState(code: mark).map { .refused($0) } ?? .unknown
            }
        }
        return outcomes
    }

    package func setPaused(_ request: PauseRequest, queue: String) async throws {
        try await register(queue)
        var arguments = arguments(queue)
        arguments.append(request.isPaused ? 1 : 0)
        arguments.append(request.forMilliseconds.map { max(1, $0) } ?? 0)
        arguments.append(request.by.oneWord)
        arguments.append(request.reason.oneLine)
        _ = try await evaluate(scripts[.pause], arguments)
    }

    package func noteEvent(_ change: QueueChange, of id: OperationID?, queue: String) async throws {
        try await requireProtocol(isWriting: false)
        var arguments = arguments(queue)
        arguments.append(change.verb.rawValue)
        arguments.append(change.by.oneWord)
        arguments.append(change.count)
        arguments.append(change.detail.oneLine)
        arguments.append(id?.description ?? "")
        _ = try await evaluate(scripts[.noteEvent], arguments)
    }

    package func setLimits(_ limits: [QueueLimit], by: String, queue: String) async throws -> QueueLimits {
        try await register(queue)
        var arguments = arguments(queue)
        arguments.append(by.oneWord)
        arguments.append(QueueLimits.concurrency(in: limits).map { "\($0 ?? 0)" } ?? "")
        arguments.append(QueueLimits.rate(in: limits).map { $0?.stored ?? "0" } ?? "")
        for change in QueueLimits.keyChanges(in: limits) {
            arguments.append(change.key)
            arguments.append(change.concurrency.map { $0.map(String.init) ?? "-" } ?? "")
            arguments.append(change.weight.map { $0.map(String.init) ?? "-" } ?? "")
            arguments.append(change.rate.map { $0?.stored ?? "-" } ?? "")
        }
        let reply = try await evaluate(scripts[.setLimits], arguments).array ?? []
        let keys = Extras(RedisValue.array(Array(reply.dropFirst())))
        return QueueLimits(stored: reply.first?.string, keys: keys.texts)
    }
}

extension CancelOutcome {
    /// Reads the pair that `cancel.lua` returns.
    init(code: String, detail: String) {
        switch code {
        case "cancelled": self = .cancelled
        case "group": self = .group
        case "requested": self = .requested(worker: detail)
        case "forced": self = .forced(worker: detail)
        case "unknown": self = .unknown(intentStored: detail == "1")
        default:
            let state = code.utf8.first.flatMap { OperationState(code: $0) }
            self = state.map { .ended($0, at: Int64(detail) ?? 0) } ?? .unknown(intentStored: false)
        }
    }
}

extension ArraySlice<RedisValue> {
    /// The texts of the values, in pairs.
    fileprivate var pairs: [(String, String)] {
        stride(from: startIndex, to: endIndex - 1, by: 2).map { (self[$0].string ?? "", self[$0 + 1].string ?? "") }
    }
}
