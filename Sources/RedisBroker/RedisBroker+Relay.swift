import Operations
import RedisClient

// Calls that pass dependencies from one queue to another; see docs/dependencies.md.
extension RedisBroker {
    package func link(_ ids: [OperationID], in queue: String, from dependentQueue: String) async throws -> [RemoteState]
    {
        guard !ids.isEmpty else { return [] }
        precondition(ids.count <= SluiceDefaults.batch, "at most \(SluiceDefaults.batch) operations a call")
        try await requireProtocol(isWriting: false)
        var arguments = arguments(queue, capacity: 128 + 36 * ids.count)
        arguments.append(dependentQueue)
        for id in ids { arguments.append(id) }
        let reply = try await evaluate(scripts[.link], arguments).array ?? []
        guard reply.count == 2 * ids.count else { throw RemoteState.unreadable }
        return try ids.indices.map { index throws(OperationsError) -> RemoteState in
            let words = (reply[2 * index].string ?? "").split(separator: " ").map(String.init)
            guard words.count == 2 else { throw RemoteState.unreadable }
            return try RemoteState(ids[index], status: words[0], sequence: words[1], result: reply[2 * index + 1].bytes)
        }
    }

    package func relay(queue: String) async throws -> Relay? {
        let reply = try await evaluate(scripts[.relay], arguments(queue)).array ?? []
        guard let other = reply.first?.string else { return nil }
        guard NameRule.allows(other) else { throw RemoteState.unreadable }
        let rows = Array(reply.dropFirst()).chunks(of: 4).map(Array.init)
        let ends = try rows.map { row throws(OperationsError) -> RemoteState in
            guard row.count == 4, let id = row[0].bytes.flatMap({ OperationID(utf8: $0) }) else {
                throw RemoteState.unreadable
            }
            return try RemoteState(
                id,
                status: row[2].string ?? "",
                sequence: row[1].string ?? "",
                result: row[3].bytes
            )
        }
        return Relay(queue: other, ends: ends)
    }

    package func resolve(_ states: [RemoteState], of source: String, queue: String) async throws {
        for chunk in states.chunks(of: 100) {
            var arguments = arguments(queue, capacity: chunk.reduce(128) { $0 + $1.result.count + 80 })
            arguments.append(source)
            for state in chunk {
                arguments.append(state.id)
                arguments.append(Int(state.sequence))
                arguments.append(state.status.rawValue)
                arguments.append(state.result)
            }
            _ = try await evaluate(scripts[.resolve], arguments)
        }
    }

    package func relayed(_ relay: Relay, queue: String) async throws -> Bool {
        var arguments = arguments(queue, capacity: 128 + 64 * relay.ends.count)
        arguments.append(relay.queue)
        for end in relay.ends {
            arguments.append(end.id)
            arguments.append(Int(end.sequence))
            arguments.append(end.status.rawValue)
        }
        return try await evaluate(scripts[.relayed], arguments).int == 1
    }

    package func ask(queue: String) async throws -> RemoteQuestions {
        let reply = try await evaluate(scripts[.ask], arguments(queue)).array ?? []
        var questions = RemoteQuestions()
        questions.more = reply.first?.int == 1
        for text in reply.dropFirst().compactMap(\.string) {
            if let name = DependencyName(text) { questions.names.append(name) }
            if text.hasPrefix("cancel "), let id = OperationID(String(text.dropFirst(7))) {
                questions.cancelled.append(id)
            }
        }
        return questions
    }
}

extension RedisBroker {
    package func change(_ change: NeedsChange, by: String, queue: String) async throws -> NeedsOutcome {
        try await requireProtocol(isWriting: false)
        var arguments = arguments(
            queue,
            capacity: 256 + 64 * ((change.added?.dependencyCount ?? 0) + change.removed.count)
        )
        arguments.append(by.oneWord)
        arguments.append(change.id)
        arguments.append(change.added?.encoded ?? [])
        arguments.append(change.part?.rawValue ?? "")
        for name in change.removed { arguments.append(name.description) }
        let answer = try await evaluate(scripts[.depend], arguments).string ?? ""
        switch answer.first {
        case "1":
            return .done(added: answer.split(separator: " ").dropFirst().compactMap { DependencyName(String($0)) })
        case "o": return .notOpen
        case "0": return .unknown
        case "h": return .held
        case "m": return .tooMany
        case "g": return .otherKind
        case "n":
            guard let id = OperationID(String(answer.dropFirst())) else { throw RemoteState.unreadable }
            return .unknownDependency(id)
        default:
            guard let state = answer.utf8.first.flatMap({ OperationState(code: $0) }) else {
                throw RemoteState.unreadable
            }
            return .refused(state)
        }
    }
}

extension RemoteState {
    fileprivate static var unreadable: OperationsError {
        OperationsError(.malformed, "the states that another queue reported cannot be read; run: sluice doctor")
    }

    fileprivate init(_ id: OperationID, status: String, sequence: String, result: [UInt8]?) throws(OperationsError) {
        guard let status = Status(rawValue: status), let sequence = Int64(sequence) else { throw Self.unreadable }
        self.init(id, status, sequence: sequence, result: result ?? [])
    }
}
