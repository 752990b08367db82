import Operations
import SluiceTesting

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
    case takeBell
    case ring
    case cancel([OperationID], CancelRequest)
    case cancelQueue(CancelRequest)
    case retry([OperationID])
    case remove([OperationID])
    case pause(Int64?)
    case resume

    /// Does it, and says what came of it in words that are equal when the outcomes are.
    func outcome(on broker: some Broker & BrokerInspection, queue: String) async throws -> String {
        switch self {
        case .advance: return ""
        case .enqueue(let operations):
            return "\(try await broker.enqueue(operations, queue: queue))"
        case .beat(let beat):
            var reply = try broker.beat(beat, queue: queue)
            reply.cancels.sort { $0.fence < $1.fence }
            return "\(reply)"
        case .claim(let request):
            return "\(try await broker.claim(request, queue: queue).brief)"
        case .complete(let completions, let isRepeat, let worker, let request):
            let reply = try await broker.complete(
                completions,
                isRepeat: isRepeat,
                worker: worker,
                thenClaim: request,
                queue: queue
            )
            return "\(reply.outcomes) \(String(describing: reply.claim?.brief))"
        case .fail(let failures, let worker):
            return "\(try await broker.fail(failures, worker: worker, queue: queue))"
        case .giveBack(let returns, let worker):
            return "\(try await broker.giveBack(returns, worker: worker, queue: queue))"
        case .report(let reports, let number, let worker):
            return "\(try await broker.report(reports, number: number, worker: worker, queue: queue))"
        case .reconcile(let known, let worker, let epoch):
            var reply = try await broker.reconcile(known: known, worker: worker, epoch: epoch, queue: queue)
            reply.found = reply.found.map(\.brief)
            return "\(reply)"
        case .sweep:
            return "\(try await broker.sweep(queue: queue))"
        case .abandon(let worker):
            return "\(try await broker.abandon(worker: worker, queue: queue))"
        case .retire(let worker):
            return "\(try await broker.retire(worker: worker, queue: queue))"
        case .takeBell, .ring, .cancel, .cancelQueue, .retry, .remove, .pause, .resume:
            return try await controlOutcome(on: broker, queue: queue)
        }
    }

    private func controlOutcome(on broker: some Broker & BrokerInspection, queue: String) async throws -> String {
        switch self {
        case .takeBell:
            return "\(String(describing: try await broker.waitForBell(queues: [queue], timeout: .seconds(5))))"
        case .ring:
            return "\(try await broker.ring(queue: queue))"
        case .cancel(let ids, let request):
            return "\(try await broker.cancel(ids, request: request, queue: queue))"
        case .cancelQueue(let request):
            return "\(try await broker.cancelQueue(queue, request: request))"
        case .retry(let ids):
            return "\(try await broker.retry(ids, queue: queue))"
        case .remove(let ids):
            return "\(try await broker.remove(ids, queue: queue))"
        case .pause(let milliseconds):
            return "\(try await broker.setPaused(true, forMilliseconds: milliseconds, queue: queue))"
        case .resume:
            return "\(try await broker.setPaused(false, forMilliseconds: nil, queue: queue))"
        default:
            return ""
        }
    }
}

extension Claim {
    fileprivate var brief: Claim {
        var brief = self
        brief.operations = operations.map(\.brief)
        return brief
    }
}

extension ClaimedOperation {
    /// With the envelope's length and hash in its place: long ones would take long to print.
    fileprivate var brief: ClaimedOperation {
        var brief = self
        brief.envelope = Array("\(envelope.count) \(envelope.hashValue)".utf8)
        return brief
    }
}
