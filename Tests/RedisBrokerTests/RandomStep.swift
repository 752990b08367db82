import Operations
import BrokerModel

/// One step of a random run: a call that both brokers get.
enum RandomStep {
    case advance(Duration)
    case enqueue([NewOperation])
    case beat(Beat)
    case claim(ClaimRequest)
    case complete([Completion], isRepeat: Bool, WorkerID, thenClaim: ClaimRequest?)
    case fail([Failure], WorkerID)
    case giveBack([Return], WorkerID)
    case report([Report], number: Int, WorkerID)
    case reconcile(known: [Int64], WorkerID, epoch: Int)
    case sweep
    case abandon(WorkerID)
    case retire(WorkerID)
    case takeToken
    case wake
    case cancel([OperationID], CancelRequest)
    case cancelQueue(CancelRequest)
    case retry([OperationID])
    case remove([OperationID])
    case pause(Int64?)
    case steer(WorkerOrder, WorkerID)
    case resume
    /// Redis has lost its scripts, as after a restart.
    case forgetScripts

    /// Does it.
    func outcome(on broker: some Broker, queue: String) async throws -> StepOutcome {
        switch self {
        case .advance, .forgetScripts: return .none
        case .enqueue(let operations): return .enqueued(try await broker.enqueue(operations, queue: queue))
        case .beat(let beat):
            var reply = try broker.beat(beat, queue: queue)
            reply.cancels.sort { $0.fence < $1.fence }
            return .beat(reply)
        case .claim(let request): return .claimed(try await broker.claim(request, queue: queue))
        case .complete(let completions, let isRepeat, let worker, let request):
            let reply = try await broker.complete(
                completions,
                isRepeat: isRepeat,
                worker: worker,
                thenClaim: request,
                queue: queue
            )
            return .completed(reply.outcomes, reply.claim)
        case .fail(let failures, let worker):
            return .settled(try await broker.fail(failures, worker: worker, queue: queue))
        case .giveBack(let returns, let worker):
            return .settled(try await broker.giveBack(returns, worker: worker, queue: queue))
        case .report(let reports, let number, let worker):
            return .reported(try await broker.report(reports, number: number, worker: worker, queue: queue))
        case .reconcile(let known, let worker, let epoch):
            return .reconciled(
                try await broker.reconcile(known: known, worker: worker, epoch: epoch, queue: queue)
            )
        default: return try await controlOutcome(on: broker, queue: queue)
        }
    }

    private func controlOutcome(on broker: some Broker, queue: String) async throws -> StepOutcome {
        switch self {
        case .sweep: return .swept(try await broker.sweep(queue: queue))
        case .abandon(let worker): return .swept(try await broker.abandon(worker: worker, queue: queue))
        case .retire(let worker): try await broker.retire(worker: worker, queue: queue)
        case .takeToken: return .wokeUp(try await broker.waitForWakeUp(queues: [queue], timeout: .seconds(5)))
        case .wake: try await broker.wake(queue: queue)
        case .cancel(let ids, let request):
            return .cancelled(try await broker.cancel(ids, request: request, queue: queue))
        case .cancelQueue(let request):
            let counts = try await broker.cancelQueue(queue, request: request)
            return .counted(waiting: counts.waiting, executing: counts.executing)
        case .retry(let ids): return .changed(try await broker.retry(ids, queue: queue))
        case .remove(let ids): return .changed(try await broker.remove(ids, queue: queue))
        case .pause(let milliseconds):
            try await broker.setPaused(true, forMilliseconds: milliseconds, queue: queue)
        case .steer(let order, let worker):
            return .steered(
                try await broker.steer(order, worker: worker.description, by: "operator", queue: queue)
            )
        case .resume: try await broker.setPaused(false, forMilliseconds: nil, queue: queue)
        default: preconditionFailure("a step that does nothing: \(self)")
        }
        return .none
    }

    /// Whether it is a message that can come late or twice. What takes from the wake-up token waits until there is something to take.
    var isMessage: Bool {
        switch self {
        case .advance, .forgetScripts, .takeToken: false
        default: true
        }
    }

    /// As it is sent again when its reply was lost; nil = another call would not be the same one. (Enqueue calls that are the same have the
    /// same number: `LostReplyTests`.)
    var repeated: RandomStep? {
        switch self {
        case .complete(let completions, _, let worker, _):
            .complete(completions, isRepeat: true, worker, thenClaim: nil)
        case .enqueue(let operations): operations.allSatisfy(\.tracked) ? self : nil
        default: self
        }
    }
}

/// What came of a step.
enum StepOutcome: Equatable {
    case none
    case enqueued([EnqueueOutcome])
    case beat(BeatReply)
    case claimed(Claim)
    case completed([SettleOutcome], Claim?)
    case settled([SettleOutcome])
    case reported([Bool])
    case reconciled(Reconciliation)
    case swept(SweepReply)
    case wokeUp(String?)
    case cancelled([CancelOutcome])
    case counted(waiting: Int, executing: Int)
    case changed([ChangeOutcome])
    case steered(Bool)
}
