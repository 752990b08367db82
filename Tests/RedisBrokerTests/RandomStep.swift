import Operations
import BrokerModel
import TestSupport

/// One step of a random run: a call for both brokers.
enum RandomStep {
    case advance(Duration)
    case enqueue([NewOperation])
    case beat(Beat)
    case claim(ClaimRequest)
    case complete([Completion], isRepeat: Bool, WorkerID, thenClaim: ClaimRequest?)
    case fail([Failure], WorkerID)
    case giveBack([Return], WorkerID)
    case report([Report], number: Int, WorkerID)
    case remember(EffectResult, WorkerID)
    case reconcile(known: [Int64], WorkerID, epoch: Int)
    case sweep
    case recoverWorker(WorkerID)
    case retire(WorkerID, [StatisticsDelta])
    case readStatistics(StatisticsQuery)
    case takeToken
    case wake
    case cancel([OperationID], CancelRequest)
    case cancelQueue(CancelRequest)
    case retry([OperationID], delays: [Int64])
    /// Edits operations, which are read before the step.
    case edit([OperationID], OperationPriority?, delayMilliseconds: Int64?, isNew: Bool)
    case purge
    case setStanding(NewStandingCancel)
    case removeStanding([Int64]?)
    case hold([OperationID])
    case release([OperationID])
    case remove([OperationID])
    case pause(Int64?)
    case limit(QueueLimit)
    /// Sets a schedule; nil = removes it.
    case schedule(String, ScheduleChange.Kind?, due: Int64?)
    case fireSchedules(next: Int64?)
    case control(WorkerCommand, WorkerID)
    case resume
    case remote(RemoteStep)
    /// Redis loses its scripts, as after a restart.
    case forgetScripts

    /// Performs the step.
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
        case .remember(let result, let worker):
            return .remembered(try await broker.remember(result, worker: worker, queue: queue))
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
        case .recoverWorker(let worker): return .swept(try await broker.recoverWorker(worker: worker, queue: queue))
        case .retire(let worker, let statistics):
            try await broker.retire(worker: worker, statistics: statistics, queue: queue)
        case .readStatistics(let query): return .statistics(try await broker.statistics(query, queue: queue))
        // Ends at once: the token is there, because the two brokers agreed on it after the step before.
        case .takeToken: return .wokeUp(try await broker.waitForWakeUp(queues: [queue], timeout: patience))
        case .wake: try await broker.wake(queue: queue)
        case .cancel(let ids, let request):
            return .cancelled(try await broker.cancel(ids, request: request, queue: queue))
        case .cancelQueue(let request):
            let counts = try await broker.cancelQueue(queue, request: request)
            return .counted(waiting: counts.waiting, executing: counts.executing)
        case .retry(let ids, let delays):
            return .changed(try await broker.retry(ids, delays: delays, by: "tester", queue: queue))
        case .edit(let ids, let priority, let delay, let isNew):
            let edits = try await broker.details(ids, queue: queue).compactMap { $0?.record }.map { record in
                OperationEdit(
                    record,
                    priority: priority,
                    delayMilliseconds: delay,
                    envelope: isNew ? record.envelope + [UInt8(ascii: " ")] : nil
                )
            }
            return .edited(try await broker.edit(edits, by: "tester", queue: queue))
        case .purge: return .purged(try await broker.purge(queue, by: "tester", from: nil))
        case .setStanding(let new):
            let set = try await broker.setStandingCancel(new, queue: queue)
            return .standing([set?.id ?? 0, set?.endsAt ?? 0], try await broker.standingCancels(queue: queue))
        case .removeStanding(let ids):
            let removed = try await broker.removeStandingCancels(ids, by: "tester", queue: queue)
            return .standing(removed, try await broker.standingCancels(queue: queue))
        case .hold(let ids):
            return .changed(try await broker.hold(ids, by: "tester", reason: "a test", queue: queue))
        case .release(let ids): return .changed(try await broker.release(ids, by: "tester", queue: queue))
        case .remove(let ids): return .changed(try await broker.remove(ids, by: "tester", queue: queue))
        case .pause(let milliseconds):
            try await broker.setPaused(.pause(forMilliseconds: milliseconds, by: "tester"), queue: queue)
        case .control(let command, let worker):
            return .controlled(
                try await broker.control(command, worker: worker.description, by: "operator", queue: queue)
            )
        case .limit(let limit):
            return .limited(try await broker.setLimits([limit], by: "tester", queue: queue))
        case .schedule(let id, let kind, let due):
            let known = try await broker.schedule(id, queue: queue)
            guard let kind else {
                let isRemoved = try await broker.removeSchedule(id, by: "tester", queue: queue)
                return .scheduled([known], isRemoved ? .done(revision: 0) : nil)
            }
            let change = ScheduleChange(
                id: id,
                kind: kind,
                revision: known.schedules.first?.revision ?? 0,
                due: due.map { known.time + $0 },
                isPaused: kind == .pause,
                detail: "again"
            )
            return .scheduled([known], try await broker.setSchedule(change, by: "tester", queue: queue))
        case .fireSchedules(let next):
            let due = try await broker.dueSchedules(queue: queue)
            var replies: [FiringReply] = []
            for schedule in due.schedules {
                guard let instant = schedule.due else { continue }
                let key = "\(schedule.id) \(instant)"
                let policies: [DuplicatePolicy] = [.join, .skip, .replace, .enqueue, .keepLatest]
                let unique = UniqueClaim(key: instant % 4 == 0 ? "k" : schedule.id, policy: policies[Int(instant % 5)])
                let firing = ScheduleFiring(
                    id: schedule.id,
                    instant: instant,
                    revision: schedule.revision,
                    next: next.map { instant + $0 },
                    hasMissed: instant % 2 == 0,
                    fault: instant % 7 == 0 ? "no reason" : nil,
                    operation: instant % 3 == 0
                        ? nil
                        : NewOperation(
                            id: OperationID(key: key),
                            envelope: Array(key.utf8),
                            links: instant % 11 < 6 ? nil : OperationLinks(unique: unique)
                        )
                )
                for _ in 0..<2 { replies.append(try await broker.fire(firing, queue: queue)) }
            }
            let all = try await broker.schedules(queue: queue, after: nil)
            return .fired([due, all], replies)
        case .resume: try await broker.setPaused(.resume(by: "tester"), queue: queue)
        case .remote(let step): return try await step.outcome(on: broker, queue: queue)
        default: preconditionFailure("a step that does nothing: \(self)")
        }
        return .none
    }

    /// Whether the step is a message that can arrive late or twice. A step that takes the wake-up token is none,
    /// because it waits for the token.
    var isMessage: Bool {
        switch self {
        case .advance, .forgetScripts, .takeToken, .readStatistics: false
        default: true
        }
    }

    /// The step as it is sent again after its reply was lost; nil = a repeat would be another call.
    ///
    /// A repeated enqueue call has the number of the first one: `LostReplyTests` covers this.
    var repeated: RandomStep? {
        switch self {
        case .complete(let completions, _, let worker, _):
            .complete(completions, isRepeat: true, worker, thenClaim: nil)
        case .enqueue(let operations): operations.allSatisfy(\.tracked) ? self : nil
        default: self
        }
    }
}

/// The outcome of a step.
enum StepOutcome: Equatable {
    case none
    case enqueued([EnqueueOutcome])
    case beat(BeatReply)
    case claimed(Claim)
    case completed([SettleOutcome], Claim?)
    case settled([SettleOutcome])
    case reported([Bool])
    case remembered(OnceResults.Stored)
    case reconciled(Reconciliation)
    case swept(SweepReply)
    case statistics(StatisticsReply)
    case wokeUp(String?)
    case cancelled([CancelOutcome])
    case counted(waiting: Int, executing: Int)
    case changed([ChangeOutcome])
    case edited([EditOutcome])
    case purged(PurgeProgress)
    case controlled(Bool)
    case limited(QueueLimits)
    case scheduled([SchedulePage], ScheduleOutcome?)
    case fired([SchedulePage], [FiringReply])
    case said([RemoteState])
    case changedNeeds(NeedsOutcome)
    case relayed(Relay?, more: Bool?)
    case asked(RemoteQuestions)
    /// The answer to the change, and the standing cancels after it.
    case standing([Int64], StandingCancels)
}
