import Operations
import RedisClient

extension RedisBroker {
    /// The state is read again this often, whatever the messages say.
    private static let rereadInterval: Duration = .seconds(5)

    package func awaitEnd(
        of ids: [OperationID],
        queue: String,
        timeout: Duration?
    ) async throws -> [OperationState?] {
        let waiter = OperationID().description
        let deadline = timeout.map { ContinuousClock.now + $0 }
        // Listening begins before the first read, so an end in between is not missed.
        let wakeUps = wakeUps(subscriptions.listen([keys.waiter(queue, waiter)]), until: deadline)
        var states = try await read(ids, waiter, queue)
        guard states.contains(where: { $0?.isTerminal == false }) else { return states }
        for await wakeUp in wakeUps {
            switch wakeUp {
            case .ended(let id, let state):
                for index in ids.indices where ids[index] == id { states[index] = state }
            case .reread:
                states = try await read(ids, waiter, queue)
            case .timedOut:
                return try await read(ids, waiter, queue)
            }
            if !states.contains(where: { $0?.isTerminal == false }) { return states }
        }
        try Task.checkCancellation()
        throw OperationsError(.unavailable, "the connection to Redis was closed while waiting")
    }

    private func read(_ ids: [OperationID], _ waiter: String, _ queue: String) async throws -> [OperationState?] {
        var states: [OperationState?] = []
        for chunk in ids.chunks(of: Defaults.batch) {
            var arguments = arguments(queue, capacity: 96 + 36 * chunk.count)
            arguments.append(waiter)
            for id in chunk { arguments.append(id) }
            states += (try await evaluate(scripts.awaitEnd, arguments).bytes ?? []).map { OperationState(code: $0) }
        }
        return states
    }

    private enum WakeUp: Sendable {
        case ended(OperationID, OperationState)
        case reread
        case timedOut
    }

    /// Messages, a tick every five seconds, and the deadline as one stream.
    private func wakeUps(
        _ signals: AsyncStream<Subscriptions.Signal>,
        until deadline: ContinuousClock.Instant?
    ) -> AsyncStream<WakeUp> {
        AsyncStream { continuation in
            let forward = Task {
                for await signal in signals {
                    switch signal {
                    case .gap: continuation.yield(.reread)
                    case .message(_, let payload):
                        if let state = payload.first.flatMap({ OperationState(code: $0) }),
                            let id = OperationID(utf8: payload.dropFirst())
                        {
                            continuation.yield(.ended(id, state))
                        }
                    }
                }
                continuation.finish()
            }
            let ticker = Task {
                while !Task.isCancelled {
                    let next = ContinuousClock.now + Self.rereadInterval
                    if let deadline, deadline <= next {
                        try? await Task.sleep(until: deadline)
                        continuation.yield(.timedOut)
                        return
                    }
                    try? await Task.sleep(until: next)
                    continuation.yield(.reread)
                }
            }
            continuation.onTermination = { _ in
                forward.cancel()
                ticker.cancel()
            }
        }
    }
}
