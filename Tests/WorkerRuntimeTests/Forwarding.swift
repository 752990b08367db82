import Operations

@testable import BrokerModel

/// A broker that forwards every call to `base`. A test overrides the calls that it needs.
protocol Forwarding: WorkerBroker {
    var base: InMemoryBroker { get }
}

extension Forwarding {
    package func claim(_ request: ClaimRequest, queue: String) async throws -> Claim {
        try await base.claim(request, queue: queue)
    }

    package func complete(
        _ completions: [Completion],
        isRepeat: Bool,
        worker: WorkerID,
        thenClaim: ClaimRequest?,
        queue: String
    ) async throws -> (outcomes: [SettleOutcome], claim: Claim?) {
        try await base.complete(
            completions,
            isRepeat: isRepeat,
            worker: worker,
            thenClaim: thenClaim,
            queue: queue
        )
    }

    package func fail(_ failures: [Failure], worker: WorkerID, queue: String) async throws -> [SettleOutcome] {
        try await base.fail(failures, worker: worker, queue: queue)
    }

    package func giveBack(_ returns: [Return], worker: WorkerID, queue: String) async throws -> [SettleOutcome] {
        try await base.giveBack(returns, worker: worker, queue: queue)
    }

    package func report(_ reports: [Report], number: Int, worker: WorkerID, queue: String) async throws -> [Bool] {
        try await base.report(reports, number: number, worker: worker, queue: queue)
    }

    package func remember(
        _ result: EffectResult,
        worker: WorkerID,
        queue: String
    ) async throws -> OnceResults.Stored {
        try await base.remember(result, worker: worker, queue: queue)
    }

    package func inputs(of id: OperationID, queue: String) async throws -> [DependencyInput] {
        try await base.inputs(of: id, queue: queue)
    }

    package func link(_ ids: [OperationID], in queue: String, from dependentQueue: String) async throws -> [RemoteState]
    {
        try await base.link(ids, in: queue, from: dependentQueue)
    }

    package func relay(queue: String) async throws -> Relay? { try await base.relay(queue: queue) }

    package func resolve(_ states: [RemoteState], of source: String, queue: String) async throws {
        try await base.resolve(states, of: source, queue: queue)
    }

    package func relayed(_ relay: Relay, queue: String) async throws -> Bool {
        try await base.relayed(relay, queue: queue)
    }

    package func cancel(_ ids: [OperationID], request: CancelRequest, queue: String) async throws -> [CancelOutcome] {
        try await base.cancel(ids, request: request, queue: queue)
    }

    package func edges(
        _ kind: DependencyEdges,
        of id: OperationID,
        limit: Int,
        queue: String
    ) async throws -> [DependencyName] {
        try await base.edges(kind, of: id, limit: limit, queue: queue)
    }

    package func ask(queue: String) async throws -> RemoteQuestions { try await base.ask(queue: queue) }

    package func beat(_ beat: Beat, queue: String) throws -> BeatReply { try base.beat(beat, queue: queue) }

    package func reconcile(known: [Int64], worker: WorkerID, epoch: Int, queue: String) async throws -> Reconciliation {
        try await base.reconcile(known: known, worker: worker, epoch: epoch, queue: queue)
    }

    package func sweep(queue: String) async throws -> SweepReply { try await base.sweep(queue: queue) }

    package func recoverWorker(worker: WorkerID, queue: String) async throws -> SweepReply {
        try await base.recoverWorker(worker: worker, queue: queue)
    }

    package func retire(worker: WorkerID, statistics: [StatisticsDelta], queue: String) async throws {
        try await base.retire(worker: worker, statistics: statistics, queue: queue)
    }

    package func waitForWakeUp(queues: [String], timeout: Duration) async throws -> String? {
        try await base.waitForWakeUp(queues: queues, timeout: timeout)
    }

    package func claimAtWakeUp(_ request: ClaimRequest, queue: String, timeout: Duration) async throws -> WakeUpAnswer {
        try await base.claimAtWakeUp(request, queue: queue, timeout: timeout)
    }

    package func dueSchedules(queue: String) async throws -> SchedulePage {
        try await base.dueSchedules(queue: queue)
    }

    package func fire(_ firing: ScheduleFiring, queue: String) async throws -> FiringReply {
        try await base.fire(firing, queue: queue)
    }

    package func wake(queue: String) async throws { try await base.wake(queue: queue) }

    package func requestedCancels(of fences: [Int64], worker: WorkerID, queue: String) async throws -> RequestedCancels
    {
        try await base.requestedCancels(of: fences, worker: worker, queue: queue)
    }

    package func standingCancels(queue: String) async throws -> StandingCancels {
        try await base.standingCancels(queue: queue)
    }

    package func controlMessages(worker: WorkerID, queues: [String]) -> AsyncStream<ControlMessage> {
        base.controlMessages(worker: worker, queues: queues)
    }
}
