import Logging
import Operations
import Synchronization

/// The exchange with one queue: reports ends and claims in the same call (commit batch).
///
/// One pass:
/// 1. Waits until an operation has ended, slots may be filled, or Redis has to be asked what this worker owns.
/// 2. Sends failures and returns, then completions together with the claim. Operations that end meanwhile go with the
///    next pass. While a large call is in flight the next pass begins, so that neither the server nor the network is
///    idle.
/// 3. Starts the claimed operations. Unanswered ends stay in the outbox, and are repeated under the same fence after a
///    pause.
///
/// The loop uses the threads of the bodies, so that nothing is claimed while bodies hold all of them.
struct QueueLoop: Sendable {
    let core: WorkerCore
    let index: Int
    let name: String

    func run() async {
        let signal = core.queue.withLock { $0.members[index].signal }
        let recovery = Recovery()
        await withDiscardingTaskGroup { group in
            while !Task.isCancelled {
                switch await nextStep(recovery) {
                case .wait: await signal.wait()
                case .exchange(let exchange) where exchange.isLarge:
                    group.addTask { await sendOn(exchange, recovery) }
                case let step: await perform(step, recovery)
                }
            }
        }
    }

    private func nextStep(_ recovery: Recovery) async -> LocalQueue.Step {
        await recovery.wait()
        return core.queue.withLock { $0.nextStep(index, .now) }
    }

    /// Sends one call after the other from the same task. The next call therefore does not wait behind bodies for a
    /// thread.
    private func sendOn(_ first: LocalQueue.Exchange, _ recovery: Recovery) async {
        var step = LocalQueue.Step.exchange(first)
        while true {
            await perform(step, recovery)
            if Task.isCancelled { return }
            step = await nextStep(recovery)
            if case .wait = step { return }
        }
    }

    /// Makes the call of a step. After a failure, the next step waits for a pause.
    private func perform(_ step: LocalQueue.Step, _ recovery: Recovery) async {
        do {
            switch step {
            case .wait: return
            case .reconcile(let known, let epoch): try await reconcile(known, epoch)
            case .exchange(let exchange): try await send(exchange)
            }
            if recovery.succeeded() { core.logger.notice("the broker answers again", metadata: ["queue": "\(name)"]) }
        } catch {
            let (pause, isFirst) = recovery.failed()
            core.logger.log(
                level: isFirst ? .warning : .debug,
                "the broker did not answer; trying again",
                metadata: ["queue": "\(name)", "error": "\(error)", "pause": "\(pause.wholeMilliseconds) ms"]
            )
        }
    }

    // MARK: Sending

    private func send(_ exchange: LocalQueue.Exchange) async throws {
        let sentAt = ContinuousClock.now
        let parts = Parts(exchange.ended)
        var open = Set(parts.all)
        do {
            if !parts.failures.messages.isEmpty {
                let outcomes = try await core.broker.fail(parts.failures.messages, worker: core.id, queue: name)
                confirm(parts.failures.ended, outcomes, exchange.isRepeat)
                open.remove(.failures)
            }
            if !parts.returns.messages.isEmpty {
                let outcomes = try await core.broker.giveBack(
                    parts.returns.messages,
                    worker: core.id,
                    queue: name
                )
                confirm(parts.returns.ended, outcomes, exchange.isRepeat)
                open.remove(.returns)
            }
            try await completeAndClaim(parts, exchange, sentAt)
        } catch {
            core.change { queue, now in
                queue.finish(exchange, index)
                queue.unanswered(parts.ended(open), hadClaim: exchange.capacity > 0, index, now)
            }
            throw error
        }
    }

    private func completeAndClaim(_ parts: Parts, _ exchange: LocalQueue.Exchange, _ sentAt: ContinuousClock.Instant)
        async throws
    {
        let request = exchange.capacity > 0 ? exchange.request(by: core.id) : nil
        var claim: Claim?
        if !parts.completions.messages.isEmpty {
            let answer = try await core.broker.complete(
                parts.completions.messages,
                isRepeat: exchange.isRepeat,
                worker: core.id,
                thenClaim: request,
                queue: name
            )
            confirm(parts.completions.ended, answer.outcomes, exchange.isRepeat)
            claim = answer.claim
        } else if let request {
            claim = try await core.broker.claim(request, queue: name)
        }
        // A duration that covers several calls is no sample for one call.
        let isOneCall = parts.failures.messages.isEmpty && parts.returns.messages.isEmpty
        accept(claim, of: exchange, sentAt, wasProbe: exchange.isProbe && isOneCall)
    }

    private func accept(
        _ claim: Claim?,
        of exchange: LocalQueue.Exchange,
        _ sentAt: ContinuousClock.Instant,
        wasProbe: Bool
    ) {
        core.note(claim, queue: name)
        let operations = core.hold(claim?.operations ?? [], index)
        core.change { queue, now in
            queue.finish(exchange, index)
            queue.members[index].outbox.answered()
            queue.members[index].calls.note(roundTrip: now - sentAt, wasProbe: wasProbe)
            if let claim { queue.accept(claim, index, of: exchange, operations, now) }
        }
    }

    // MARK: Answers

    private func confirm(_ ended: [Ended], _ outcomes: [SettleOutcome], _ isRepeat: Bool) {
        core.queue.withLock { $0.confirm(ended, index) }
        guard outcomes.contains(.stale) else { return }
        for (each, outcome) in zip(ended, outcomes) where outcome == .stale {
            // For an untracked operation, Redis cannot tell whether the first call has ended it.
            if isRepeat, !each.operation.claimed.header.tracked { continue }
            core.logger.warning(
                "this worker no longer owns the operation; nothing was stored",
                metadata: each.operation.metadata(["fence": "\(each.operation.fence)"])
            )
        }
    }

    private func reconcile(_ known: [Int64], _ epoch: Int) async throws {
        let answer: Reconciliation
        do {
            answer = try await core.broker.reconcile(known: known, worker: core.id, epoch: epoch, queue: name)
        } catch {
            core.change { queue, _ in queue.finish(nil, index) }
            throw error
        }
        core.noteFaults(of: answer.found, queue: name)
        let found = core.hold(answer.found, index)
        let lost = core.change { queue, _ in
            queue.finish(nil, index)
            return queue.reconcile(answer, epoch: epoch, index, found: found)
        }
        if !answer.found.isEmpty {
            core.logger.info(
                "found operations whose claim was not answered",
                metadata: ["queue": "\(name)", "count": "\(answer.found.count)"]
            )
        }
        for operation in lost { core.lose(operation) }
    }
}

/// The pauses between attempts to reach the broker, for all calls of a queue.
private final class Recovery: Sendable {
    private let state = Mutex((backoff: Backoff(), until: ContinuousClock.Instant?.none))

    /// - Returns: true if the previous attempt failed.
    func succeeded() -> Bool {
        state.withLock { state in
            defer { state = (Backoff(), nil) }
            return state.until != nil
        }
    }

    /// - Returns: how long nothing is sent, and whether the previous attempt was answered.
    func failed() -> (pause: Duration, isFirst: Bool) {
        state.withLock { state in
            let pause = state.backoff.pause()
            defer { state.until = .now + pause }
            return (pause, state.until == nil)
        }
    }

    /// Waits for the end of a pause.
    func wait() async {
        while let until = state.withLock({ $0.until }), until > .now, !Task.isCancelled {
            try? await Task.sleep(until: until, clock: .continuous)
        }
    }
}

/// The ends of an exchange, sorted by the call that reports them.
private struct Parts {
    enum Kind: CaseIterable { case failures, returns, completions }

    /// The messages of one call, and their operations.
    struct Part<Message> {
        var messages: [Message] = []
        var ended: [Ended] = []

        mutating func append(_ message: Message, _ each: Ended) {
            messages.append(message)
            ended.append(each)
        }
    }

    var failures = Part<Failure>()
    var returns = Part<Return>()
    var completions = Part<Completion>()

    let all = Kind.allCases

    init(_ ended: [Ended]) {
        completions.messages.reserveCapacity(ended.count)
        completions.ended.reserveCapacity(ended.count)
        for each in ended {
            let operation = each.operation
            switch each.settlement {
            case .finished(let result):
                let message = Completion(
                    fence: operation.fence,
                    id: operation.id,
                    tracked: operation.claimed.header.tracked,
                    result: result
                )
                completions.append(message, each)
            case .failed(let disposition, let error):
                let message = Failure(
                    fence: operation.fence,
                    id: operation.id,
                    disposition: disposition,
                    error: error
                )
                failures.append(message, each)
            case .returned(let place):
                returns.append(Return(fence: operation.fence, id: operation.id, place: place), each)
            }
        }
    }

    func ended(_ kinds: Set<Kind>) -> [Ended] {
        (kinds.contains(.failures) ? failures.ended : [])
            + (kinds.contains(.returns) ? returns.ended : [])
            + (kinds.contains(.completions) ? completions.ended : [])
    }
}
