import Logging
import Operations
import Synchronization

/// The exchange with one queue: sends what has ended and claims in the same call (group commit).
///
/// One pass:
/// 1. Waits until something has ended, slots may be filled, or Redis has to be asked what this worker owns.
/// 2. Sends failures and returns, then completions together with the claim; whatever ends meanwhile goes with the next pass. While a
///    large call is under way the next pass begins, so that neither the server nor the way there leaves the other one idle.
/// 3. Starts what was handed out. What was not answered stays in the outbox and is repeated under the same fence, after a pause.
///
/// It has the threads of the bodies, so that nothing is claimed while these hold all of them. While many very short operations come one
/// after the other it has a higher priority and threads of its own: Redis would else stand still whenever bodies run, and bodies while
/// Redis does.
struct QueueLoop: Sendable {
    let core: WorkerCore
    let index: Int
    let name: String

    func run() async {
        let signal = core.queue.withLock { $0.members[index].signal }
        let recovery = Recovery()
        while !Task.isCancelled {
            await run(rushing: false, signal, recovery)
            if Task.isCancelled { return }
            let rush = Task(priority: .high) { await run(rushing: true, signal, recovery) }
            await withTaskCancellationHandler {
                await rush.value
            } onCancel: {
                rush.cancel()
            }
        }
    }

    /// Runs as long as the queue does, or does not, rush.
    private func run(rushing: Bool, _ signal: Signal, _ recovery: Recovery) async {
        await withDiscardingTaskGroup { group in
            while !Task.isCancelled {
                await recovery.wait()
                let now = ContinuousClock.now
                let step = core.queue.withLock { queue in
                    queue.members[index].isRushing(now) == rushing ? queue.nextStep(index, now) : nil
                }
                switch step {
                case nil: return
                case .wait: await signal.wait()
                case .reconcile(let known, let epoch): await attempt(recovery) { try await reconcile(known, epoch) }
                case .exchange(let exchange) where exchange.isLarge:
                    group.addTask { await attempt(recovery) { try await send(exchange) } }
                case .exchange(let exchange): await attempt(recovery) { try await send(exchange) }
                }
            }
        }
    }

    private func attempt(_ recovery: Recovery, _ call: () async throws -> Void) async {
        do {
            try await call()
            recovery.succeeded()
        } catch {
            let pause = recovery.failed()
            core.logger.warning(
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
            if !parts.failures.isEmpty {
                let outcomes = try await core.broker.fail(parts.failures.map(\.message), worker: core.id, queue: name)
                confirm(parts.failures.map(\.ended), outcomes, exchange.isRepeat)
                open.remove(.failures)
            }
            if !parts.returns.isEmpty {
                let outcomes = try await core.broker.giveBack(
                    parts.returns.map(\.message),
                    worker: core.id,
                    queue: name
                )
                confirm(parts.returns.map(\.ended), outcomes, exchange.isRepeat)
                open.remove(.returns)
            }
            try await completeAndClaim(parts, exchange, sentAt)
        } catch {
            core.change { queue, _ in
                queue.finish(exchange, index)
                queue.unanswered(parts.ended(open), hadClaim: exchange.capacity > 0, index)
            }
            throw error
        }
    }

    private func completeAndClaim(_ parts: Parts, _ exchange: LocalQueue.Exchange, _ sentAt: ContinuousClock.Instant)
        async throws
    {
        let request =
            exchange.capacity > 0
            ? ClaimRequest(worker: core.id, epoch: exchange.epoch, capacity: exchange.capacity) : nil
        var claim: Claim?
        if !parts.completions.isEmpty {
            let answer = try await core.broker.complete(
                parts.completions.map(\.message),
                isRepeat: exchange.isRepeat,
                worker: core.id,
                thenClaim: request,
                queue: name
            )
            confirm(parts.completions.map(\.ended), answer.outcomes, exchange.isRepeat)
            claim = answer.claim
        } else if let request {
            claim = try await core.broker.claim(request, queue: name)
        }
        accept(claim, of: exchange, sentAt)
    }

    private func accept(_ claim: Claim?, of exchange: LocalQueue.Exchange, _ sentAt: ContinuousClock.Instant) {
        core.note(claim, queue: name)
        let ties = core.ties(index)
        core.change { queue, now in
            queue.finish(exchange, index)
            queue.members[index].note(roundTrip: now - sentAt)
            if let claim { queue.accept(claim, index, of: exchange, ties: ties, now) }
        }
    }

    // MARK: Answers

    private func confirm(_ ended: [Ended], _ outcomes: [SettleOutcome], _ isRepeat: Bool) {
        core.queue.withLock { $0.confirm(ended, index) }
        for (each, outcome) in zip(ended, outcomes) where outcome == .stale {
            // Of an untracked operation Redis cannot tell whether the first call has ended it.
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
        let ties = core.ties(index)
        let lost = core.change { queue, _ in
            queue.finish(nil, index)
            return queue.reconcile(answer, epoch: epoch, index, ties: ties)
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

/// The pauses between tries to reach the broker, for all calls of a queue.
private final class Recovery: Sendable {
    private let state = Mutex((backoff: Backoff(), until: ContinuousClock.Instant?.none))

    func succeeded() { state.withLock { $0 = (Backoff(), nil) } }

    /// - Returns: how long nothing is sent.
    func failed() -> Duration {
        state.withLock { state in
            let pause = state.backoff.pause()
            state.until = .now + pause
            return pause
        }
    }

    /// Waits for the end of a pause.
    func wait() async {
        while let until = state.withLock({ $0.until }), until > .now, !Task.isCancelled {
            try? await Task.sleep(until: until, clock: .continuous)
        }
    }
}

/// What ended, sorted by the call that it goes out with.
private struct Parts {
    enum Kind: CaseIterable { case failures, returns, completions }

    var failures: [(message: Failure, ended: Ended)] = []
    var returns: [(message: Return, ended: Ended)] = []
    var completions: [(message: Completion, ended: Ended)] = []

    let all = Kind.allCases

    init(_ ended: [Ended]) {
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
                completions.append((message, each))
            case .failed(let disposition, let error):
                let message = Failure(
                    fence: operation.fence,
                    id: operation.id,
                    disposition: disposition,
                    error: error
                )
                failures.append((message, each))
            case .returned(let place):
                returns.append((Return(fence: operation.fence, id: operation.id, place: place), each))
            }
        }
    }

    func ended(_ kinds: Set<Kind>) -> [Ended] {
        (kinds.contains(.failures) ? failures.map(\.ended) : [])
            + (kinds.contains(.returns) ? returns.map(\.ended) : [])
            + (kinds.contains(.completions) ? completions.map(\.ended) : [])
    }
}
