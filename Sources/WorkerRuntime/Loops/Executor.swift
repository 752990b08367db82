import Foundation
import Logging
import Operations

/// Runs operations. Every way out of a run ends in exactly one settlement.
struct Executor: Sendable {
    let core: WorkerCore

    /// An executor task older than this ends after its current body. Calls to Redis and bodies that resume wait for the
    /// same thread.
    private static let slice: Duration = .microseconds(200)

    /// Runs waiting operations, one after the other, until none waits, one was asked to end, or the executor task's
    /// time is over.
    func run(in executorTask: ExecutorTask) async {
        guard var turn = core.firstTurn() else { return }
        let until = turn.startedAt + Self.slice
        while true {
            let operation = turn.operation
            let settlement = await settlement(of: operation, in: executorTask)
            core.deadlines.remove(operation)
            guard let (reportsAreBusy, taskIsFree, run) = operation.end() else { return core.returned(operation) }
            core.counters.count(settlement)
            core.statistics.ended(operation.queue, run, settlement)
            let next = core.end(
                operation,
                settlement,
                reportsAreBusy: reportsAreBusy,
                startedAt: turn.startedAt,
                taskMayRunUntil: taskIsFree ? until : turn.startedAt
            )
            guard let next else { return }
            turn = next
        }
    }

    private func settlement(of operation: HeldOperation, in executorTask: ExecutorTask) async -> Settlement {
        let envelope: OperationEnvelope
        do {
            let (claimed, queue) = (operation.claimed, operation.queueName)
            envelope = try OperationEnvelope(claimed.envelope, id: claimed.id, queue: queue, seal: core.seal)
        } catch let failure as SealFailure {
            return quarantined(operation, failure)
        } catch {
            return malformed(operation, "\(error)")
        }
        if operation.claimed.standing > 0, let standing = await core.standingCancel(of: operation) {
            return cancelledByStanding(operation, standing)
        }
        guard let handler = core.registry[envelope.name] else { return unknownName(operation, envelope) }
        if core.hasShortGraces, core.mustStop(operation, envelope.name) { return .returned(.front) }
        guard let startedAt = operation.begin(in: executorTask, name: envelope.name) else { return withheld(operation) }
        let readyAt = operation.claimed.header.readyAt
        let waited = core.statistics.started(operation.queue, envelope.name, readyAt: readyAt, at: startedAt)
        let notes = core.middleware.isEmpty ? nil : RunNotes(waited: waited)
        let run = Run(core: core, operation: operation, envelope: envelope, handler: handler, notes: notes)
        return await run.settlement()
    }

    /// Settles an operation that cannot be read. Envelopes are read in slots, so that several are read at once; the
    /// slot is free again at once.
    private func malformed(_ operation: HeldOperation, _ fault: String) -> Settlement {
        core.noteMalformed(operation.claimed, fault, queue: operation.queueName)
        return .failed(.dead, error: OperationFailure(malformed: operation.claimed, fault).encoded())
    }

    /// Settles an operation that cannot be trusted or decrypted: people can see it, and it never runs. An operator may
    /// retry it once the keys are correct.
    private func quarantined(_ operation: HeldOperation, _ failure: SealFailure) -> Settlement {
        core.counters.countMalformed()
        core.logger.warning(
            "operation in quarantine",
            metadata: operation.metadata(["error.type": "\(failure.code.rawValue)", "error": "\(failure.message)"])
        )
        let (attempt, delivery) = (operation.claimed.attempt, operation.claimed.header.delivery)
        let error = OperationFailure(
            type: failure.code.rawValue,
            message: failure.message,
            attempt: attempt,
            delivery: delivery,
            verdict: .final
        )
        return .failed(.dead, error: error.encoded())
    }

    /// Settles an operation with a name that is not registered here. The operation waits for a worker that knows the
    /// name. If it cannot wait for the name, it is delayed by a random time.
    private func unknownName(_ operation: HeldOperation, _ envelope: OperationEnvelope) -> Settlement {
        if let notice = core.unhandledNameLog.note(envelope.name, .now) {
            core.logger.warning(
                "this worker has no operation of this name; the operation waits for a worker that registers it",
                metadata: operation.metadata([
                    "operation.name": "\(notice.name.map(OperationsError.quoted) ?? "others")",
                    "operations": "\(notice.count)",
                ])
            )
        }
        let pause = SluiceDefaults.unknownNameDelay * Double.random(in: 0.5...1.5)
        guard NameRule.allows(envelope.name) else { return .returned(.later(milliseconds: pause.wholeMilliseconds)) }
        return .returned(.unhandled(name: envelope.name, orLaterMilliseconds: pause.wholeMilliseconds))
    }

    /// Settles an operation that matches a standing cancel, before its body begins.
    private func cancelledByStanding(_ operation: HeldOperation, _ standing: StandingCancel) -> Settlement {
        core.logger.info(
            "cancelled before it began: a standing cancel matches",
            metadata: operation.metadata([
                "standing": "\(standing.id)", "reason": "\(standing.reason)", "by": "\(standing.by)",
            ])
        )
        let request = OperationCancellation(reason: standing.reason, by: standing.by, requestedAt: standing.setAt)
        return .failed(.cancelledByStanding(standing: standing.id, request), error: [])
    }

    /// Settles an operation that was asked to end before its body began.
    private func withheld(_ operation: HeldOperation) -> Settlement {
        operation.endRequests.cancellation == nil ? .returned(.front) : .failed(.cancelled, error: [])
    }
}

/// One run of one operation's body.
private struct Run {
    let core: WorkerCore
    let operation: HeldOperation
    let envelope: OperationEnvelope
    let handler: OperationHandler
    /// nil = the worker has no middleware.
    let notes: RunNotes?

    func settlement() async -> Settlement {
        core.logger.debug("started", metadata: operation.metadata(name))
        let limit = envelope.runTimeout ?? handler.runTimeout
        if let limit { core.deadlines.set(operation, .runTimeout, at: .now + limit.limited) }
        var context = OperationContext(
            claimed: operation.claimed,
            envelope: envelope,
            maxAttempts: policy.attempts,
            queue: operation.queueName,
            link: operation
        )
        context.notes = notes
        if handler.onEnd != nil || notes != nil {
            operation.setEndHook { [context] settlement in
                let isForced = operation.cancellation?.isForced == true
                let failure: any Error =
                    isForced ? CancellationError() : StuckFailure(grace: core.configuration.cancelGrace)
                notes?.ended(.init(state: settlement.stateName, error: failure))
                if let hook = handler.onEnd { Task { await tell(hook, (settlement, failure), context) } }
            }
        }
        let outcome: Outcome
        do {
            outcome = finished(try await result(context))
        } catch {
            outcome = ended(by: error, limit: limit)
        }
        // The body has ended in time; the end hook is not part of its time.
        core.deadlines.remove(operation)
        guard handler.onEnd != nil || notes != nil else { return outcome.settlement }
        // If the operation was given up on, the end hook has been called already.
        guard operation.takeEndHook() != nil else { return outcome.settlement }
        notes?.ended(.init(state: outcome.settlement.stateName, error: outcome.error))
        if let hook = handler.onEnd { await tell(hook, outcome, context) }
        return outcome.settlement
    }

    /// Runs the body inside the middleware of the worker.
    private func result(_ context: OperationContext) async throws -> [UInt8] {
        guard !core.middleware.isEmpty else { return try await handler.body(envelope.arguments, context) }
        return try await core.middleware.execute(context) { [handler, envelope] context in
            try await handler.body(envelope.arguments, context)
        }
    }

    /// How the operation leaves, and the error that was thrown.
    private typealias Outcome = (settlement: Settlement, error: (any Error)?)

    /// Calls the end hook of an operation, in a task of its own: the task of the run may be cancelled. A hook that
    /// takes too long is cancelled. If it ignores that, the worker stops waiting for it, because others need the slot.
    private func tell(_ hook: @escaping OperationHandler.EndHook, _ outcome: Outcome, _ context: OperationContext) async
    {
        guard let state = outcome.settlement.end else { return }
        let ending = LocalOperationEnding(
            state: state,
            error: outcome.error,
            cancelReason: operation.endRequests.cancellation?.reason,
            attempts: operation.claimed.attempt
        )
        let (end, signal) = AsyncStream<Never>.makeStream()
        let telling = Task { [arguments = envelope.arguments] in
            await hook(ending, arguments, context)
            signal.finish()
        }
        let limit = Task {
            try await Task.sleep(for: SluiceDefaults.cancelGrace)
            telling.cancel()
            try await Task.sleep(for: SluiceDefaults.cancelGrace)
            signal.finish()
        }
        await Task { for await _ in end {} }.value
        limit.cancel()
    }

    /// The retry policy of the type, where the producer has set nothing.
    private var policy: RetryPolicy { envelope.retry.applied(to: handler.retryPolicy) }

    private var name: Logger.Metadata { ["operation.name": "\(envelope.name)"] }

    private func finished(_ result: [UInt8]) -> Outcome {
        guard result.count <= SluiceDefaults.resultBytes else {
            return failed(with: ResultTooLarge(byteCount: result.count))
        }
        core.logger.debug("finished", metadata: operation.metadata(name))
        return (.finished(result: result), nil)
    }

    /// Decides the outcome of an error. A body that was asked to end may throw any error, so the request decides.
    private func ended(by error: any Error, limit: Duration?) -> Outcome {
        let requests = operation.endRequests
        if let cancellation = requests.cancellation {
            let facts: Logger.Metadata = ["reason": "\(cancellation.reason)", "by": "\(cancellation.by ?? "")"]
            core.logger.info("cancelled", metadata: operation.metadata(name.merging(facts)))
            return (.failed(.cancelled, error: error is CancellationError ? [] : failure(error).encoded()), error)
        }
        if requests.stop == nil || requests.stop == .giveBack, let snooze = error as? Snooze {
            return snoozed(snooze)
        }
        if requests.stop == nil || requests.stop == .giveBack, let left = error as? SlotLeft {
            return slotLeft(left)
        }
        switch requests.stop {
        case .lost: return (.returned(.front), error)
        case .giveBack:
            core.logger.info("given back", metadata: operation.metadata(name))
            return (.returned(.front), error)
        case .runTimeout: return failed(with: RunTimeoutFailure(limit: limit ?? .zero))
        case nil where isLapse(error):
            core.logger.info("its lease lapsed; given back", metadata: operation.metadata(name))
            return (.returned(.front), error)
        case nil: return failed(with: error)
        }
    }

    /// Settles an operation that left its slot. A stopping worker gives it back to the front of its lane; otherwise it
    /// goes behind those that wait.
    private func slotLeft(_ left: SlotLeft) -> Outcome {
        core.logger.info("left its slot", metadata: operation.metadata(name.merging(["for": "\(left.wish)"])))
        switch left.wish {
        case .stopping: return (.returned(.front), left)
        case .others: return (.failed(.yielded, error: []), left)
        }
    }

    private func snoozed(_ snooze: Snooze) -> Outcome {
        let (pause, reason) = (snooze.pause.wholeMilliseconds, snooze.reason)
        let facts: Logger.Metadata = ["snooze.milliseconds": "\(pause)", "reason": "\(reason)"]
        core.logger.info("snoozed", metadata: operation.metadata(name.merging(facts)))
        return (.failed(.snoozed(milliseconds: pause, reason: reason), error: []), snooze)
    }

    /// True if the body asked for its fence while the worker could not know whether it still owns the operation. Such
    /// an error is no failure of the operation.
    private func isLapse(_ error: any Error) -> Bool {
        guard let error = error as? OperationsError else { return false }
        return error.code == .leaseLost && error.id == operation.claimed.id
    }

    private func failed(with error: any Error) -> Outcome {
        let (disposition, verdict) = judge(error)
        let failure = failure(error, verdict)
        var facts = name.merging(["error.type": "\(failure.type)", "error": "\(failure.message)"])
        switch disposition {
        case .retry(let pause):
            facts["retry.milliseconds"] = "\(pause)"
            core.logger.info("failed; another attempt follows", metadata: operation.metadata(facts))
        case .dead: core.logger.warning("failed for good", metadata: operation.metadata(facts))
        case .cancelled, .cancelledByStanding, .snoozed, .yielded:
            core.logger.info("failed; discarded", metadata: operation.metadata(facts))
        }
        return (.failed(disposition, error: failure.encoded()), error)
    }

    /// Decides what follows an error: first by the error itself, then by the operation's type, then by the policy.
    private func judge(_ error: any Error) -> (Failure.Disposition, OperationFailure.Verdict) {
        let attempt = operation.claimed.attempt
        guard error.isRetryable else { return (.dead, .final) }
        let own = handler.decide?((error as? RunTimeoutFailure)?.cause ?? error, attempt)
        let attempts = own == nil ? policy.attempts : envelope.retry.attempts ?? SluiceDefaults.maxAttempts
        switch own ?? policy.decision(for: error, attempt: attempt) {
        case .discard: return (.cancelled, .discarded)
        case .dead: return (.dead, own == nil ? .exhausted : .final)
        case .retry(let pause):
            guard attempt < attempts else { return (.dead, .exhausted) }
            return (.retry(afterMilliseconds: max(0, pause.wholeMilliseconds)), .retry)
        }
    }

    private func failure(_ error: any Error, _ verdict: OperationFailure.Verdict? = nil) -> OperationFailure {
        let failing = error as? any OperationFailing
        return OperationFailure(
            type: failing?.failureType ?? String(describing: type(of: error)),
            message: error.text,
            attempt: operation.claimed.attempt,
            delivery: operation.claimed.header.delivery,
            details: failing?.failureDetails,
            verdict: verdict
        )
    }
}

/// The error of an attempt that ran longer than its limit.
private struct RunTimeoutFailure: OperationFailing, CustomStringConvertible {
    let limit: Duration
    var failureType: String { "timeout" }
    var failureDetails: [String: Int]? { ["limitMilliseconds": Int(limit.wholeMilliseconds)] }
    /// The error as a type's retry policy knows it.
    var cause: OperationsError { OperationsError(.timedOut, description) }
    var description: String {
        "timed out after \(limit.formatted(.units(allowed: [.hours, .minutes, .seconds, .milliseconds])))"
    }
}

/// The error of a body that returned more than Redis stores. Another attempt would return as much.
private struct ResultTooLarge: OperationFailing, CustomStringConvertible {
    let byteCount: Int
    var failureType: String { "result" }
    var isRetryable: Bool { false }
    var description: String {
        "the result has \(byteCount) bytes, and at most \(SluiceDefaults.resultBytes) are allowed: "
            + "store it elsewhere and return its address"
    }
}

extension Logger.Metadata {
    fileprivate func merging(_ other: Logger.Metadata) -> Logger.Metadata { merging(other) { $1 } }
}

extension HeldOperation {
    /// Identifies the operation in the log.
    func metadata(_ more: Logger.Metadata = [:]) -> Logger.Metadata { claimed.metadata(queue: queueName, more) }
}

extension ClaimedOperation {
    fileprivate func metadata(queue: String, _ more: Logger.Metadata) -> Logger.Metadata {
        let own: Logger.Metadata = [
            "queue": "\(queue)",
            "operation.id": "\(id)",
            "attempt": "\(attempt)",
            "delivery": "\(header.delivery)",
        ]
        return own.merging(more)
    }
}

extension OperationFailure {
    /// The failure of an operation that this version cannot read. Another attempt would read the same bytes.
    init(malformed claimed: ClaimedOperation, _ fault: String) {
        self.init(
            type: "malformed",
            message: fault,
            attempt: claimed.attempt,
            delivery: claimed.header.delivery,
            verdict: .final
        )
    }
}

extension WorkerCore {
    /// Reports the answer to a claim to liveness, heartbeat and counters.
    func note(_ claim: Claim?, queue: String) {
        guard let claim else { return }
        liveness.claimed()
        if claim.status == .noLease { beatNow.request() }
        noteFaults(of: claim.operations, queue: queue)
    }

    /// Counts the claimed operations that cannot be read.
    func noteFaults(of operations: [ClaimedOperation], queue: String) {
        for claimed in operations {
            guard let fault = claimed.fault else { continue }
            noteMalformed(claimed, fault, queue: queue)
            if let index = index(of: queue) { statistics.ended(index, nil, .failed(.dead, error: [])) }
        }
    }

    /// Counts and logs an operation that cannot be read.
    func noteMalformed(_ claimed: ClaimedOperation, _ fault: String, queue: String) {
        counters.countMalformed()
        logger.warning("operation cannot be read", metadata: claimed.metadata(queue: queue, ["error": "\(fault)"]))
    }
}
