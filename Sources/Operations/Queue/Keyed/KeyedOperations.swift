import Synchronization

/// Operations of which at most one per key is in flight: one download per address, one update per row, one synchronisation at a time.
///
/// ```swift
/// let icons = KeyedOperations<URL, Image>(queue: queue, freshness: .seconds(300), maximumResults: 500)
/// let icon = icons.run(url) { try await download(url) }      // the same operation for all who ask meanwhile
/// ```
///
/// In flight means waiting or executing. An operation whose cancel was requested is not joined and does not make others skip; what is
/// asked for then starts when it has ended.
public final class KeyedOperations<Key: Hashable & Sendable, Output: Sendable>: Sendable {
    /// What is in flight for one key.
    private struct Flight {
        var latest: ValueOperation<Output>
        /// Ends when all before the latest have ended, also if one of them is cancelled out of turn; nil = there are none.
        var turn: LocalOperation?
        var members: [ObjectIdentifier: ValueOperation<Output>]

        /// Adds one that runs when all the others have ended.
        func followed(by operation: ValueOperation<Output>, _ turns: LocalOperationQueue) -> Flight {
            var flight = self
            let turn = ValueOperation(home: turns.core) {}
            flight.latest = operation
            flight.turn = turn
            flight.members[ObjectIdentifier(operation)] = operation
            do {
                // By Foundation's rule: it runs however those before it end.
                try turn.addDependency(latest, onFailure: .run)
                if let former = self.turn { try turn.addDependency(former, onFailure: .run) }
                try operation.addDependency(turn, onFailure: .run)
            } catch {
                preconditionFailure(
                    "nothing waits for operations that only this call knows, so they close no cycle: \(error)"
                )
            }
            turns.core.add(turn)
            return flight
        }
    }

    private struct State {
        var flights: [Key: Flight] = [:]
        var results: ResultCache<Key, ValueOperation<Output>, ContinuousClock.Instant>
    }

    private let queue: LocalOperationQueue
    /// Runs the turns, which are empty.
    private let turns = LocalOperationQueue(maxConcurrentOperationCount: LocalOperationQueue.unlimited)
    private let now: @Sendable () -> ContinuousClock.Instant
    private let state: Guarded<State>

    /// - Parameters:
    ///   - queue: where the operations run.
    ///   - freshness: how long a finished result is good enough for `join` and `skip`; zero = not at all. Errors are never kept.
    ///   - maximumResults: how many finished results are kept at most; the oldest go first.
    public convenience init(queue: LocalOperationQueue, freshness: Duration = .zero, maximumResults: Int = 1000) {
        self.init(queue: queue, freshness: freshness, maximumResults: maximumResults) { ContinuousClock.now }
    }

    init(
        queue: LocalOperationQueue,
        freshness: Duration,
        maximumResults: Int,
        now: @escaping @Sendable () -> ContinuousClock.Instant
    ) {
        self.queue = queue
        self.now = now
        state = Guarded(State(results: ResultCache(maximumAge: freshness, maximumCount: maximumResults)))
    }

    /// Asks for the operation of a key.
    ///
    /// Atomic: of any number of callers at the same time, one starts it. Deciding and adding to the queue are one step, so what others
    /// add to the queue meanwhile, barriers too, is before all of it or behind. What `replace` cancels hears of it after that step.
    ///
    /// - Parameters:
    ///   - key: what the operation is about.
    ///   - onDuplicate: what happens if there is one already.
    ///   - options: how it is to be run, if it is added.
    ///   - body: the work.
    /// - Returns: the operation, and how it was come by.
    @discardableResult
    public func run(
        _ key: Key,
        onDuplicate: DuplicatePolicy = .join,
        _ options: LocalOperationOptions = LocalOperationOptions(),
        _ body: @escaping @Sendable () async throws -> Output
    ) -> KeyedOperation<Output> {
        let made = ValueOperation(options: options, home: queue.core, body: body)
        let (answer, former) = state.withLock { state in
            let decision = decide(key, onDuplicate, made, &state)
            if decision.0.operation === made { enter(made, key) }
            return decision
        }
        // Not before it is in the queue: this calls code of others, which may ask for the same key or add a barrier.
        for operation in former { operation.cancel(reason: "replaced by a later one of its key") }
        return answer
    }

    /// The operation of a key that is in flight; nil if there is none.
    public func operation(for key: Key) -> ValueOperation<Output>? {
        state.withLock { $0.flights[key]?.latest }.flatMap { $0.isFinished ? nil : $0 }
    }

    /// The result of a key that is still fresh; nil if there is none.
    public func freshValue(for key: Key) -> Output? {
        let operation = state.withLock { $0.results.entry(for: key, at: now()) }
        return try? operation?.result?.get()
    }

    /// Cancels what is in flight for a key: of enqueued ones, all.
    ///
    /// - Parameters:
    ///   - key: the key.
    ///   - reason: for people and for `cancelReason`.
    public func cancel(_ key: Key, reason: String = "") {
        let members = state.withLock { $0.flights[key]?.members.values.map { $0 } ?? [] }
        for operation in members { operation.cancel(reason: reason) }
    }

    /// Forgets the finished result of a key, so that the next one who asks starts anew.
    public func invalidate(_ key: Key) { state.withLock { $0.results.remove(key) } }

    /// Forgets all finished results.
    public func invalidateAll() { state.withLock { $0.results.removeAll() } }

    // MARK: Deciding

    /// - Returns: the answer, and what it is to replace.
    private func decide(
        _ key: Key,
        _ policy: DuplicatePolicy,
        _ made: ValueOperation<Output>,
        _ state: inout State
    ) -> (KeyedOperation<Output>, former: [ValueOperation<Output>]) {
        settle(key, &state)
        let flight = state.flights[key]
        if policy == .join || policy == .skip {
            if let latest = flight?.latest, !latest.isCancelled {
                return (KeyedOperation(operation: latest, origin: policy == .join ? .joined : .skipped), [])
            }
            if flight == nil, let fresh = state.results.entry(for: key, at: now()) {
                return (KeyedOperation(operation: fresh, origin: policy == .join ? .fresh : .skipped), [])
            }
        }
        guard let flight else {
            state.flights[key] = Flight(latest: made, members: [ObjectIdentifier(made): made])
            return (KeyedOperation(operation: made, origin: .started), [])
        }
        let former = policy == .replace ? Array(flight.members.values) : []
        state.flights[key] = flight.followed(by: made, turns)
        return (KeyedOperation(operation: made, origin: policy == .replace ? .replaced : .enqueued), former)
    }

    /// Takes note of an end that has not been told yet. One that ran has ended after all before it.
    private func settle(_ key: Key, _ state: inout State) {
        guard let latest = state.flights[key]?.latest, latest.isFinished else { return }
        let end = latest.state
        remove(latest, key, end, &state)
        if end != .cancelled { state.flights[key] = nil }
    }

    private func ended(_ key: Key, _ operation: ValueOperation<Output>, _ end: OperationState) {
        state.withLock { remove(operation, key, end, &$0) }
    }

    private func remove(_ operation: ValueOperation<Output>, _ key: Key, _ end: OperationState, _ state: inout State) {
        guard state.flights[key]?.members.removeValue(forKey: ObjectIdentifier(operation)) != nil else { return }
        // What was replaced or is followed by others is not the key's last word.
        if state.flights[key]?.latest === operation {
            if end == .finished {
                state.results.insert(operation, for: key, at: now())
            } else {
                state.results.remove(key)
            }
        }
        if state.flights[key]?.members.isEmpty == true { state.flights[key] = nil }
    }

    /// Adds an operation that only this call knows yet. It may end before this returns; its hook waits for the state's lock then.
    private func enter(_ operation: ValueOperation<Output>, _ key: Key) {
        operation.onEnd { [weak self, weak operation] ending in
            if let operation { self?.ended(key, operation, ending.state) }
        }
        queue.core.add(operation)
    }
}
