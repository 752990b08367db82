import Operations

// Calls that wait: for wake-up tokens, for ends, for messages.
extension InMemoryBroker {
    package func waitForWakeUp(queues: [String], timeout: Duration) async throws -> String? {
        try Task.checkCancellation()
        let ticket = state.withLock { $0.listeners.newTicket() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                enterWakeUpQueue(ticket, queues: queues, timeout: timeout, continuation: continuation)
            }
        } onCancel: {
            let waiter = state.withLock { $0.listeners.wakeUps.removeValue(forKey: ticket) }
            waiter?.resume(with: .failure(CancellationError()))
        }
    }

    package func claimAtWakeUp(_ request: ClaimRequest, queue: String, timeout: Duration) async throws -> WakeUpAnswer {
        if Task.isCancelled { return WakeUpAnswer() }
        let woken: String?
        do {
            woken = try await waitForWakeUp(queues: [queue], timeout: timeout)
        } catch is CancellationError {
            woken = nil
        }
        return WakeUpAnswer(wasWoken: woken != nil, claim: try await claim(request, queue: queue))
    }

    private func enterWakeUpQueue(
        _ ticket: Int,
        queues: [String],
        timeout: Duration,
        continuation: CheckedContinuation<String?, any Error>
    ) {
        let isWaiting = state.withLock { state in
            // Checked under the lock, so a later cancel finds the waiter.
            if Task.isCancelled {
                continuation.resume(throwing: CancellationError())
                return false
            }
            for queue in queues where state.queues[queue]?.hasToken == true {
                state.queues[queue]?.hasToken = false
                continuation.resume(returning: queue)
                return false
            }
            state.listeners.wakeUps[ticket] = WakeUpWaiter(queues: queues, continuation: continuation)
            return true
        }
        guard isWaiting else { return }
        let timer = after(timeout) { broker in
            let waiter = broker.state.withLock { $0.listeners.wakeUps.removeValue(forKey: ticket) }
            waiter?.resume(with: .success(nil))
        }
        let isOver = state.withLock { state in
            state.listeners.wakeUps[ticket]?.timer = timer
            return state.listeners.wakeUps[ticket] == nil
        }
        if isOver { timer.cancel() }
    }

    package func awaitEnd(
        of ids: [OperationID],
        queue: String,
        timeout: Duration?,
        progress: (@Sendable ([OperationState?]) -> Void)?
    ) async throws -> [OperationState?] {
        try Task.checkCancellation()
        run(queue) { $0.markAwaited(ids) }
        progress?(read(queue) { $0.states(of: ids) })
        let ticket = state.withLock { $0.listeners.newTicket() }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                enterEndQueue(
                    ticket,
                    ids: ids,
                    queue: queue,
                    timeout: timeout,
                    progress: progress,
                    continuation: continuation
                )
            }
        } onCancel: {
            let waiter = state.withLock { $0.listeners.ends.removeValue(forKey: ticket) }
            waiter?.resume(with: .failure(CancellationError()))
        }
        let states = read(queue) { $0.states(of: ids) }
        progress?(states)
        return states
    }

    private func enterEndQueue(
        _ ticket: Int,
        ids: [OperationID],
        queue: String,
        timeout: Duration?,
        progress: (@Sendable ([OperationState?]) -> Void)?,
        continuation: CheckedContinuation<Void, any Error>
    ) {
        let waiter = EndWaiter(queue: queue, ids: ids, progress: progress, continuation: continuation)
        let isWaiting = state.withLock { state in
            if Task.isCancelled {
                continuation.resume(throwing: CancellationError())
                return false
            }
            guard let model = state.queues[queue], !waiter.isOver(in: model) else {
                continuation.resume()
                return false
            }
            state.listeners.ends[ticket] = waiter
            return true
        }
        guard isWaiting, let timeout else { return }
        let timer = after(timeout) { broker in
            let waiter = broker.state.withLock { $0.listeners.ends.removeValue(forKey: ticket) }
            waiter?.resume(with: .success(()))
        }
        let isOver = state.withLock { state in
            state.listeners.ends[ticket]?.timer = timer
            return state.listeners.ends[ticket] == nil
        }
        if isOver { timer.cancel() }
    }

    /// Runs the action after a pause, unless the task is cancelled or the broker is gone.
    private func after(
        _ duration: Duration,
        _ action: @escaping @Sendable (InMemoryBroker) -> Void
    ) -> Task<Void, Never> {
        Task { [weak self] in
            guard (try? await Task.sleep(for: duration)) != nil, let self else { return }
            action(self)
        }
    }
}

// MARK: - Streams

extension InMemoryBroker {
    /// Returns a stream of messages to the worker. The first message is `.resubscribed`, as in every new subscription.
    package func controlMessages(worker: WorkerID, queues: [String]) -> AsyncStream<ControlMessage> {
        let (stream, continuation) = AsyncStream.makeStream(of: ControlMessage.self)
        let ticket = state.withLock { state in
            let ticket = state.listeners.newTicket()
            let subscriber = ControlSubscriber(worker: worker.description, queues: queues, continuation: continuation)
            state.listeners.controls[ticket] = subscriber
            continuation.yield(.resubscribed)
            return ticket
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { _ = $0.listeners.controls.removeValue(forKey: ticket) }
        }
        return stream
    }

    package func hints(of id: OperationID, queue: String) -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let ticket = state.withLock { state in
            let ticket = state.listeners.newTicket()
            state.listeners.followers[ticket] = Follower(id: id, queue: queue, continuation: continuation)
            return ticket
        }
        continuation.yield()
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { _ = $0.listeners.followers.removeValue(forKey: ticket) }
        }
        return stream
    }

    package func events(queues: [String]) -> AsyncThrowingStream<EventBatch, any Error> {
        let (stream, continuation) = AsyncThrowingStream.makeStream(of: EventBatch.self)
        let ticket = state.withLock { state in
            let ticket = state.listeners.newTicket()
            state.listeners.events[ticket] = EventSubscriber(queues: queues, continuation: continuation)
            return ticket
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { _ = $0.listeners.events.removeValue(forKey: ticket) }
        }
        return stream
    }

    /// Stops all messages to workers until `reconnectControl`. Messages of that time are lost, as with a cut
    /// connection.
    package func cutControl() {
        state.withLock { $0.listeners.isControlCut = true }
    }

    package func reconnectControl() {
        state.withLock { state in
            state.listeners.isControlCut = false
            for subscriber in state.listeners.controls.values { subscriber.continuation.yield(.resubscribed) }
        }
    }
}
