import Operations
import RedisClient

extension RedisBroker {
    package func enqueue(_ operations: [NewOperation], queue: String) async throws -> [EnqueueOutcome] {
        guard !operations.isEmpty else { return [] }
        precondition(operations.count <= Defaults.batch, "at most \(Defaults.batch) operations a call")
        try await register(queue)
        let call = ledger.begin(queue)
        defer { ledger.end(call, queue) }
        let reply = try await repeating { [self] in
            var arguments = arguments(queue, capacity: operations.reduce(256) { $0 + $1.envelope.count + 96 })
            arguments.append(ledger.producer)
            arguments.append(call)
            arguments.append(ledger.floor(queue))
            for operation in operations { arguments.append(operation.element) }
            return try await evaluate(scripts.enqueue, arguments)
        }
        let outcomes = try translate { () throws(RedisError) in try reply.expectBytes("outcomes of enqueue") }
        return outcomes.map { $0 == UInt8(ascii: "1") ? .created : .exists }
    }

    /// Repeats a call whose outcome is unknown: its number makes that harmless. As long as no answer came, whatever goes wrong
    /// later does not make the outcome known.
    private func repeating(_ call: () async throws -> RedisValue) async throws -> RedisValue {
        let deadline = ContinuousClock.now + configuration.enqueuePatience
        var unknown: OperationsError?
        while true {
            do {
                return try await call()
            } catch let error as OperationsError where error.code == .outcomeUnknown || error.code == .unavailable {
                if error.code == .outcomeUnknown { unknown = error }
                guard let unknown else { throw error }
                if ContinuousClock.now >= deadline || Task.isCancelled { throw unknown }
                try? await Task.sleep(for: .milliseconds(50))
            }
        }
    }
}

/// The synchronous form of `translated`.
func translate<Result>(_ body: () throws(RedisError) -> Result) throws(OperationsError) -> Result {
    do throws(RedisError) {
        return try body()
    } catch {
        throw OperationsError(error)
    }
}
