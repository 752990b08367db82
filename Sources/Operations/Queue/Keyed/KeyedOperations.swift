import Synchronization

/// Runs at most one operation per key at a time: one download per URL, one update per row, one synchronisation.
///
/// ```swift
/// let icons = KeyedOperations<URL, Image>(queue: queue, freshFor: .seconds(300), maximumResults: 500)
/// let icon = icons.run(url) { try await download(url) }      // concurrent callers get the same operation
/// ```
///
/// In flight means waiting or executing. An operation with a cancel request is not joined and does not make others
/// skip. The next operation of its key starts after its end.
public final class KeyedOperations<Key: Hashable & Sendable, Output: Sendable>: Sendable {
    /// The operations in flight for one key.
    private struct Flight {
        var latest: ValueOperation<Output>
        /// Ends when all operations before the latest have ended, even if one of them is cancelled early; nil = no
        /// operation is before the latest.
        var turn: LocalOperation?
        var members: [ObjectIdentifier: ValueOperation<Output>]

        /// Adds an operation that runs after the end of all others.
        func followed(by operation: ValueOperation<Output>, _ turns: LocalOperationQueue) -> Flight {
            var flight = self
            let turn = ValueOperation(home: turns.core) {}
            flight.latest = operation
            flight.turn = turn
            flight.members[ObjectIdentifier(operation)] = operation
            do {
                // The operation runs in any case: the ends before it need not be good, as with Foundation's
                // dependencies.
                try turn.addDependency(latest, onFailure: .run)
                if let former = self.turn { try turn.addDependency(former, onFailure: .run) }
                try operation.addDependency(turn, onFailure: .run)
            } catch {
                preconditionFailure(
                    "operations that only this call knows cannot close a cycle: \(error)"
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
    /// Runs the `turn` operations, which have no work.
    private let turns = LocalOperationQueue(maxConcurrentOperationCount: LocalOperationQueue.unlimited)
    private let now: @Sendable () -> ContinuousClock.Instant
    private let state: Guarded<State>

    /// Makes a set of keyed operations.
    ///
    /// - Parameters:
    ///   - queue: the queue that runs the operations.
    ///   - freshFor: how long `join` and `skip` use a finished result; zero = never. Errors are not stored.
    ///   - maximumResults: how many finished results are stored. The oldest are dropped first.
    public convenience init(queue: LocalOperationQueue, freshFor: Duration = .zero, maximumResults: Int = 1000) {
        self.init(queue: queue, freshFor: freshFor, maximumResults: maximumResults) { ContinuousClock.now }
    }

    init(
        queue: LocalOperationQueue,
        freshFor: Duration,
        maximumResults: Int,
        now: @escaping @Sendable () -> ContinuousClock.Instant
    ) {
        self.queue = queue
        self.now = now
        state = Guarded(State(results: ResultCache(maximumAge: freshFor, maximumCount: maximumResults)))
    }

    /// Returns the operation in flight for a key, or adds one.
    ///
    /// Atomic: of any number of concurrent callers, one starts the operation. The decision and the addition to the
    /// queue are one step, so operations and barriers that are added concurrently come before or after both. `replace`
    /// cancels after that step.
    ///
    /// - Parameters:
    ///   - key: the subject of the operation, such as a URL.
    ///   - ifExists: the policy if an operation of this key is in flight.
    ///   - options: the options of an added operation.
    ///   - body: the work.
    /// - Returns: the operation and its origin.
    @discardableResult
    public func run(
        _ key: Key,
        ifExists: DuplicatePolicy = .join,
        _ options: LocalOperationOptions = LocalOperationOptions(),
        _ body: @escaping @Sendable () async throws -> Output
    ) -> KeyedOperation<Output> {
        let made = ValueOperation(options: options, home: queue.core, body: body)
        if case .debounce(let time) = ifExists { postpone(made, by: time) }
        let (answer, former) = state.withLock { state in
            let decision = decide(key, ifExists, made, &state)
            if decision.0.operation === made { enter(made, key) }
            return decision
        }
        // Cancel after the addition: a cancel calls code of users, which may run the same key or add a barrier.
        let reason = "replaced by a later one of its key"
        for operation in former {
            if ifExists == .replace {
                operation.cancel(reason: reason)
            } else {
                operation.cancelIfWaiting(reason: reason)
            }
        }
        return answer
    }

    /// Makes an operation that only this call knows wait for a time.
    private func postpone(_ operation: ValueOperation<Output>, by time: Duration) {
        let pause = ValueOperation(home: turns.core) { try await Task.sleep(for: time) }
        do { try operation.addDependency(pause, onFailure: .run) } catch {
            preconditionFailure("an operation that only this call knows cannot close a cycle: \(error)")
        }
        turns.core.add(pause)
    }

    /// Returns the operation in flight for a key; nil = none.
    public func operation(for key: Key) -> ValueOperation<Output>? {
        state.withLock { $0.flights[key]?.latest }.flatMap { $0.isFinished ? nil : $0 }
    }

    /// Returns the fresh result of a key; nil = none.
    public func freshValue(for key: Key) -> Output? {
        let operation = state.withLock { $0.results.entry(for: key, at: now()) }
        return try? operation?.result?.get()
    }

    /// Cancels all operations in flight for a key.
    ///
    /// - Parameters:
    ///   - key: the key.
    ///   - reason: the text for `cancelReason`.
    public func cancel(_ key: Key, reason: String = "") {
        let members = state.withLock { $0.flights[key]?.members.values.map { $0 } ?? [] }
        for operation in members { operation.cancel(reason: reason) }
    }

    /// Drops the finished result of a key, so that the next call starts an operation.
    public func invalidate(_ key: Key) { state.withLock { $0.results.remove(key) } }

    /// Drops all finished results.
    public func invalidateAll() { state.withLock { $0.results.removeAll() } }

    // MARK: Deciding

    /// - Returns: the answer, and the operations to cancel.
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
        // The cancel finds out which of them still wait.
        let former = policy == .enqueue ? [] : Array(flight.members.values)
        state.flights[key] = flight.followed(by: made, turns)
        let replaces = policy != .enqueue && (policy == .replace || former.contains { $0.state != .executing })
        return (KeyedOperation(operation: made, origin: replaces ? .replaced : .enqueued), former)
    }

    /// Notes an end whose hook has not run yet. If an operation ran, all operations before it had ended.
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
        // Only the latest operation of a key leaves its result.
        if state.flights[key]?.latest === operation {
            if end == .finished {
                state.results.insert(operation, for: key, at: now())
            } else {
                state.results.remove(key)
            }
        }
        if state.flights[key]?.members.isEmpty == true { state.flights[key] = nil }
    }

    /// Adds an operation that only this call knows. If the operation ends before this returns, its hook waits for the
    /// state's lock.
    private func enter(_ operation: ValueOperation<Output>, _ key: Key) {
        operation.onEnd { [weak self, weak operation] ending in
            if let operation { self?.ended(key, operation, ending.state) }
        }
        queue.core.add(operation)
    }
}
