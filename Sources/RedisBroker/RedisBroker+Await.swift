import Operations
import RedisClient
import Synchronization

extension RedisBroker {
    /// The interval at which waits read the state even without a message.
    static let rereadInterval: Duration = .seconds(5)

    package func awaitEnd(
        of ids: [OperationID],
        queue: String,
        timeout: Duration?,
        progress: (@Sendable ([OperationState?]) -> Void)?
    ) async throws -> [OperationState?] {
        let waiter = OperationID().description
        let deadline = timeout.map { ContinuousClock.now + $0 }
        let indexes = Dictionary(grouping: ids.indices) { ids[$0] }
        // Listening begins before the first read, so an end in between is not missed.
        let news = EndNews()
        let wakeUps = wakeUps(subscriptions.listen([keys.waiter(queue, waiter)]), news, until: deadline)
        let patientRead = { ids in try await self.read(ids, waiter, queue, until: deadline) }
        // A read without a wait does not retry during an outage.
        var states = timeout == .zero ? try await read(ids, waiter, queue) : try await patientRead(ids)
        progress?(states)
        guard states.contains(where: { $0?.isTerminal == false }) else { return states }
        for await _ in wakeUps {
            let (named, isAll, isOver) = news.take()
            if isAll {
                states = try await patientRead(ids)
            } else {
                // A message only triggers a read. The reply of Redis decides whether an operation has ended.
                let open = Array(named).filter { id in indexes[id].map { states[$0[0]]?.isTerminal == false } ?? false }
                for (id, state) in zip(open, try await patientRead(open)) {
                    for index in indexes[id] ?? [] { states[index] = state }
                }
            }
            progress?(states)
            if isOver || !states.contains(where: { $0?.isTerminal == false }) { return states }
        }
        try Task.checkCancellation()
        throw OperationsError(.unavailable, "the connection to Redis was closed while waiting")
    }

    package func hints(of id: OperationID, queue: String) -> AsyncStream<Void> {
        let waiter = OperationID().description
        let (ends, events) = (keys.waiter(queue, waiter), keys.events(queue))
        let signals = subscriptions.listen([ends, events])
        return AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            // The scripts forget a follower after a minute without a read. A user that may not write gets only the
            // events.
            @Sendable func announce() async {
                _ = try? await read([id], waiter, queue)
                continuation.yield()
            }
            let forward = Task {
                for await signal in signals {
                    switch signal {
                    case .gap: await announce()
                    case .refused(let channel, let error):
                        warnOfSlowWaits(refusal(of: channel, error))
                        await announce()
                    case .accepted: break
                    case .message(let channel, let payload):
                        if channel == ends || EventBatch(queue: queue, payload: payload)?.mayConcern(id) == true {
                            continuation.yield()
                        }
                    }
                }
                continuation.finish()
            }
            let ticker = Task {
                while (try? await Task.sleep(for: Self.rereadInterval)) != nil { await announce() }
            }
            continuation.onTermination = { _ in
                forward.cancel()
                ticker.cancel()
            }
        }
    }

    private func read(
        _ ids: [OperationID],
        _ waiter: String,
        _ queue: String,
        until deadline: ContinuousClock.Instant?
    ) async throws -> [OperationState?] {
        let goesOn = { self.isOpen.load(ordering: .acquiring) }
        return try await outlastingOutages(until: deadline, goesOn: goesOn, onOutage: reportOutage) {
            try await read(ids, waiter, queue)
        }
    }

    private func read(_ ids: [OperationID], _ waiter: String, _ queue: String) async throws -> [OperationState?] {
        var states: [OperationState?] = []
        for chunk in ids.chunks(of: SluiceDefaults.batch) {
            var arguments = arguments(queue, capacity: 96 + 36 * chunk.count)
            arguments.append(waiter)
            for id in chunk { arguments.append(id) }
            states += (try await evaluate(scripts[.awaitEnd], arguments).bytes ?? []).map { OperationState(code: $0) }
        }
        return states
    }

    /// One stream of messages, a tick every five seconds, and the deadline; `news` holds their content.
    private func wakeUps(
        _ signals: AsyncStream<Subscriptions.Signal>,
        _ news: EndNews,
        until deadline: ContinuousClock.Instant?
    ) -> AsyncStream<Void> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let forward = Task {
                for await signal in signals {
                    switch signal {
                    case .gap: news.addAll()
                    case .refused(let channel, let error):
                        warnOfSlowWaits(refusal(of: channel, error))
                        continue
                    case .accepted: continue
                    case .message(_, let payload):
                        guard let id = OperationID(utf8: payload.dropFirst()) else { continue }
                        news.add(id)
                    }
                    continuation.yield()
                }
                continuation.finish()
            }
            let ticker = Task {
                while !Task.isCancelled {
                    let next = ContinuousClock.now + Self.rereadInterval
                    let isLast = deadline.map { $0 <= next } ?? false
                    try? await Task.sleep(until: isLast ? deadline ?? next : next)
                    news.addAll(isOver: isLast)
                    continuation.yield()
                    if isLast { return }
                }
            }
            continuation.onTermination = { _ in
                forward.cancel()
                ticker.cancel()
            }
        }
    }
}

/// The news since a waiter's last read. Messages that arrive during a read are handled by the next read.
private final class EndNews: Sendable {
    private let state = Mutex<(named: Set<OperationID>, isAll: Bool, isOver: Bool)>(([], false, false))

    /// A message has named this operation.
    func add(_ id: OperationID) { state.withLock { _ = $0.named.insert(id) } }

    /// Marks all operations: messages may have been missed, or it is time to read without one.
    func addAll(isOver: Bool = false) {
        state.withLock {
            $0.isAll = true
            $0.isOver = $0.isOver || isOver
        }
    }

    func take() -> (named: Set<OperationID>, isAll: Bool, isOver: Bool) {
        state.withLock { state in
            defer { state = ([], false, state.isOver) }
            return state
        }
    }
}
