import Operations
import RedisClient

extension RedisBroker {
    package func cancel(_ ids: [OperationID], request: CancelRequest, queue: String) async throws -> [CancelOutcome] {
        try await requireProtocol(isWriting: false)
        var outcomes: [CancelOutcome] = []
        for chunk in ids.chunks(of: Defaults.batch) {
            var arguments = arguments(queue, capacity: 128 + 36 * chunk.count)
            arguments.append(request.by.oneWord)
            arguments.append(request.reason.oneLine)
            arguments.append(request.storesIntent ? 1 : 0)
            for id in chunk { arguments.append(id) }
            let reply = try await evaluate(scripts[.cancel], arguments).array ?? []
            var answers = reply.prefix(2 * chunk.count).pairs.map { CancelOutcome(code: $0, detail: $1) }
            let missing = zip(chunk, answers).filter { if case .unknown = $1 { true } else { false } }.map(\.0)
            let workers = reply.dropFirst(2 * chunk.count).compactMap(\.string)
            let owners = try await cancelHeld(missing, by: workers, request, queue)
            for (index, id) in zip(answers.indices, chunk) {
                if let worker = owners[id.description] { answers[index] = .requested(worker: worker) }
            }
            outcomes += answers
        }
        return outcomes
    }

    /// Looks for operations without a record among what the workers hold, a part of it in each call, and tells their owners to cancel.
    ///
    /// - Returns: the owners of those that were found, by id.
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

    package func retry(_ ids: [OperationID], queue: String) async throws -> [ChangeOutcome] {
        try await change(scripts[.retry], ids, queue)
    }

    package func remove(_ ids: [OperationID], queue: String) async throws -> [ChangeOutcome] {
        try await change(scripts[.remove], ids, queue)
    }

    private func change(_ script: RedisScript, _ ids: [OperationID], _ queue: String) async throws -> [ChangeOutcome] {
        try await requireProtocol(isWriting: false)
        var outcomes: [ChangeOutcome] = []
        for chunk in ids.chunks(of: Defaults.batch) {
            var arguments = arguments(queue, capacity: 64 + 36 * chunk.count)
            for id in chunk { arguments.append(id) }
            outcomes += (try await evaluate(script, arguments).bytes ?? []).map { mark in
                if mark == UInt8(ascii: "1") { return .done }
                return OperationState(code: mark).map { .refused($0) } ?? .unknown
            }
        }
        return outcomes
    }

    package func setPaused(_ paused: Bool, forMilliseconds: Int64?, queue: String) async throws {
        try await register(queue)
        var arguments = arguments(queue)
        arguments.append(paused ? 1 : 0)
        arguments.append(forMilliseconds.map { max(1, $0) } ?? 0)
        _ = try await evaluate(scripts[.pause], arguments)
    }
}

extension CancelOutcome {
    /// Reads the pair that `cancel.lua` answers.
    init(code: String, detail: String) {
        switch code {
        case "cancelled": self = .cancelled
        case "requested": self = .requested(worker: detail)
        case "unknown": self = .unknown(intentStored: detail == "1")
        default:
            let state = code.utf8.first.flatMap { OperationState(code: $0) }
            self = state.map { .ended($0, at: Int64(detail) ?? 0) } ?? .unknown(intentStored: false)
        }
    }
}

extension String {
    /// The scripts store "time by reason" in one value: `by` is one word of it, the rest one line.
    var oneWord: String {
        let word = unicodeScalars.map { $0.properties.isWhitespace || $0.value < 0x20 ? "_" : String($0) }.joined()
        return word.isEmpty ? "-" : String(word.prefix(64))
    }

    fileprivate var oneLine: String {
        unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7f ? " " : String($0) }.joined().cut(toCharacters: 500)
    }
}

extension ArraySlice<RedisValue> {
    /// Its texts, two and two.
    fileprivate var pairs: [(String, String)] {
        stride(from: startIndex, to: endIndex - 1, by: 2).map { (self[$0].string ?? "", self[$0 + 1].string ?? "") }
    }
}
