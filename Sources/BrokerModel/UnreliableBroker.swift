import Operations

/// A broker that loses some calls, before they reach the server or after they took effect.
///
/// Both look the same to the caller (`.outcomeUnknown`), as on a network. The same seed loses the same calls, as long
/// as the calls come in the same order.
package final class UnreliableBroker<Base: WorkerBroker>: WorkerBroker {
    /// The calls that can be unreliable.
    package enum Call: String, Sendable, CaseIterable {
        case enqueue, claim, complete, fail, giveBack, report, remember, beat, reconcile, sweep, recoverWorker, retire
        case requestedCancels, standingCancels
        case dueSchedules
        case fire
        case link, relay, resolve, relayed, ask, cancel, edges
    }

    package let base: Base
    private let callLoss: Double
    private let replyLoss: Double
    private let only: Set<Call>
    private let chance: Guarded<SeededGenerator>
    private let losses = Guarded<[Call: Int]>([:])

    /// - Parameters:
    ///   - base: the broker that does the work.
    ///   - seed: the same seed loses the same calls.
    ///   - callLoss: the fraction of calls that never reach the server, 0 to 1.
    ///   - replyLoss: the fraction of calls whose answer is lost after they took effect, 0 to 1.
    ///   - only: the calls that are unreliable.
    package init(
        _ base: Base,
        seed: UInt64,
        callLoss: Double = 0.1,
        replyLoss: Double = 0.1,
        only: Set<Call> = Set(Call.allCases)
    ) {
        self.base = base
        self.callLoss = callLoss
        self.replyLoss = replyLoss
        self.only = only
        chance = Guarded(SeededGenerator(seed: seed))
    }

    /// How many calls have failed because the call or its answer was lost.
    package var lossCount: Int { losses.withLock { $0.values.reduce(0, +) } }

    private enum Fate { case fine, callLost, replyLost }

    private func fate(of call: Call) -> Fate {
        guard only.contains(call) else { return .fine }
        let draw = chance.withLock { Double.random(in: 0..<1, using: &$0) }
        if draw >= callLoss + replyLoss { return .fine }
        losses.withLock { $0[call, default: 0] += 1 }
        return draw < callLoss ? .callLost : .replyLost
    }

    private static func lost(_ call: Call) -> OperationsError {
        OperationsError(
            .outcomeUnknown,
            "the call \(call.rawValue) or its answer was lost, so it may have taken effect"
        )
    }

    private func attempt<Answer>(_ call: Call, _ body: () async throws -> Answer) async throws -> Answer {
        let fate = fate(of: call)
        if fate == .callLost { throw Self.lost(call) }
        let answer = try await body()
        if fate == .replyLost { throw Self.lost(call) }
        return answer
    }
}

extension UnreliableBroker where Base: ProducerBroker {
    package func enqueue(_ operations: [NewOperation], queue: String) async throws -> [EnqueueOutcome] {
        try await attempt(.enqueue) { try await base.enqueue(operations, queue: queue) }
    }
}

extension UnreliableBroker {
    package func claim(_ request: ClaimRequest, queue: String) async throws -> Claim {
        try await attempt(.claim) { try await base.claim(request, queue: queue) }
    }

    package func complete(
        _ completions: [Completion],
        isRepeat: Bool,
        worker: WorkerID,
        thenClaim: ClaimRequest?,
        queue: String
    ) async throws -> (outcomes: [SettleOutcome], claim: Claim?) {
        try await attempt(.complete) {
            try await base.complete(
                completions,
                isRepeat: isRepeat,
                worker: worker,
                thenClaim: thenClaim,
                queue: queue
            )
        }
    }

    package func fail(_ failures: [Failure], worker: WorkerID, queue: String) async throws -> [SettleOutcome] {
        try await attempt(.fail) { try await base.fail(failures, worker: worker, queue: queue) }
    }

    package func giveBack(_ returns: [Return], worker: WorkerID, queue: String) async throws -> [SettleOutcome] {
        try await attempt(.giveBack) { try await base.giveBack(returns, worker: worker, queue: queue) }
    }

    package func report(_ reports: [Report], number: Int, worker: WorkerID, queue: String) async throws -> [Bool] {
        try await attempt(.report) { try await base.report(reports, number: number, worker: worker, queue: queue) }
    }

    package func remember(
        _ result: EffectResult,
        worker: WorkerID,
        queue: String
    ) async throws -> OnceResults.Stored {
        try await attempt(.remember) { try await base.remember(result, worker: worker, queue: queue) }
    }

    package func inputs(of id: OperationID, queue: String) async throws -> [DependencyInput] {
        try await base.inputs(of: id, queue: queue)
    }

    package func link(_ ids: [OperationID], in queue: String, from dependentQueue: String) async throws -> [RemoteState]
    {
        try await attempt(.link) { try await base.link(ids, in: queue, from: dependentQueue) }
    }

    package func relay(queue: String) async throws -> Relay? {
        try await attempt(.relay) { try await base.relay(queue: queue) }
    }

    package func resolve(_ states: [RemoteState], of source: String, queue: String) async throws {
        try await attempt(.resolve) { try await base.resolve(states, of: source, queue: queue) }
    }

    package func relayed(_ relay: Relay, queue: String) async throws -> Bool {
        try await attempt(.relayed) { try await base.relayed(relay, queue: queue) }
    }

    package func ask(queue: String) async throws -> RemoteQuestions {
        try await attempt(.ask) { try await base.ask(queue: queue) }
    }

    package func cancel(
        _ ids: [OperationID],
        request: CancelRequest,
        queue: String
    ) async throws -> [CancelOutcome] {
        try await attempt(.cancel) { try await base.cancel(ids, request: request, queue: queue) }
    }

    package func edges(
        _ kind: DependencyEdges,
        of id: OperationID,
        limit: Int,
        queue: String
    ) async throws -> [DependencyName] {
        try await attempt(.edges) { try await base.edges(kind, of: id, limit: limit, queue: queue) }
    }

    package func beat(_ beat: Beat, queue: String) throws -> BeatReply {
        let fate = fate(of: .beat)
        if fate == .callLost { throw Self.lost(.beat) }
        let reply = try base.beat(beat, queue: queue)
        if fate == .replyLost { throw Self.lost(.beat) }
        return reply
    }

    package func reconcile(
        known: [Int64],
        worker: WorkerID,
        epoch: Int,
        queue: String
    ) async throws -> Reconciliation {
        try await attempt(.reconcile) {
            try await base.reconcile(known: known, worker: worker, epoch: epoch, queue: queue)
        }
    }

    package func sweep(queue: String) async throws -> SweepReply {
        try await attempt(.sweep) { try await base.sweep(queue: queue) }
    }

    package func recoverWorker(worker: WorkerID, queue: String) async throws -> SweepReply {
        try await attempt(.recoverWorker) { try await base.recoverWorker(worker: worker, queue: queue) }
    }

    package func retire(worker: WorkerID, statistics: [StatisticsDelta], queue: String) async throws {
        try await attempt(.retire) { try await base.retire(worker: worker, statistics: statistics, queue: queue) }
    }

    /// Waits for a wake-up, always reliably: a lost wake-up would look like a timeout, for which `base` returns nil.
    package func waitForWakeUp(queues: [String], timeout: Duration) async throws -> String? {
        try await base.waitForWakeUp(queues: queues, timeout: timeout)
    }

    package func claimAtWakeUp(_ request: ClaimRequest, queue: String, timeout: Duration) async throws -> WakeUpAnswer {
        try await attempt(.claim) { try await base.claimAtWakeUp(request, queue: queue, timeout: timeout) }
    }

    package func dueSchedules(queue: String) async throws -> SchedulePage {
        try await attempt(.dueSchedules) { try await base.dueSchedules(queue: queue) }
    }

    package func fire(_ firing: ScheduleFiring, queue: String) async throws -> FiringReply {
        try await attempt(.fire) { try await base.fire(firing, queue: queue) }
    }

    package func wake(queue: String) async throws { try await base.wake(queue: queue) }

    package func requestedCancels(of fences: [Int64], worker: WorkerID, queue: String) async throws -> RequestedCancels
    {
        try await attempt(.requestedCancels) {
            try await base.requestedCancels(of: fences, worker: worker, queue: queue)
        }
    }

    package func standingCancels(queue: String) async throws -> StandingCancels {
        try await attempt(.standingCancels) { try await base.standingCancels(queue: queue) }
    }

    package func controlMessages(worker: WorkerID, queues: [String]) -> AsyncStream<ControlMessage> {
        base.controlMessages(worker: worker, queues: queues)
    }
}
