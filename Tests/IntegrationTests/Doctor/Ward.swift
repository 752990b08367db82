import Operations
import RedisBroker
import RedisClient
import TestSupport

/// A queue with an operation in every place, all consistent, and methods to damage it.
struct Ward: Sendable {
    let queue: String
    let redis: TestRedis
    let prefix: String
    let worker = WorkerID()
    private(set) var ready: [OperationID] = []
    private(set) var scheduled = OperationID()
    private(set) var executing = OperationID()
    private(set) var executingFence: Int64 = 0
    private(set) var finished = OperationID()
    /// A ready operation on which `blocked` depends
    private(set) var needed = OperationID()
    private(set) var blocked = OperationID()

    init(_ queue: String, _ broker: RedisBroker, redis: TestRedis = .shared) async throws {
        self.queue = queue
        self.redis = redis
        prefix = "{\(broker.namespace)/\(queue)}:"
        let info = WorkerInfo(
            host: "h",
            pid: 1,
            name: "w",
            slots: 8,
            queues: [queue],
            handles: ["noop"],
            version: "1",
            startedAt: 1
        )
        let beat = Beat(
            worker: worker,
            epoch: 1,
            leaseMilliseconds: 3_600_000,
            intervalMilliseconds: 1_200_000,
            info: info.encoded()
        )
        _ = try broker.beat(beat, queue: queue)
        try await park(broker)
        var started = (0..<4).map { _ in Self.operation() }
        started.append(NewOperation(tracked: false, envelope: Self.envelope))
        _ = try await broker.enqueue(started, queue: queue)
        let claim = try await broker.claim(ClaimRequest(worker: worker, epoch: 1, capacity: 5), queue: queue)
        try await settle(claim.operations, broker)
        let waiting = (0..<3).map { _ in Self.operation() }
        let later = Self.operation(delay: 3_600_000)
        let expiring = Self.operation(expires: 3_600_000)
        let untracked = NewOperation(tracked: false, envelope: Self.envelope)
        _ = try await broker.enqueue(waiting + [later, expiring, untracked], queue: queue)
        ready = waiting.map(\.id)
        scheduled = later.id
        let dependency = Self.operation()
        let dependent = NewOperation(
            envelope: Self.envelope,
            links: OperationLinks(after: [OperationDependency(dependency.id)])
        )
        _ = try await broker.enqueue([dependency, dependent], queue: queue)
        (needed, blocked) = (dependency.id, dependent.id)
    }

    /// Leaves a limit key that is out of rate, with one operation that waits for its next start.
    private func park(_ broker: RedisBroker) async throws {
        let rate = QueueRate(1, per: .seconds(86_400), burst: 1)
        _ = try await broker.setLimits([.keyRate(rate, of: Self.key)], by: "ann", queue: queue)
        let operations = (0..<2).map { _ in
            NewOperation(envelope: Self.envelope, links: OperationLinks(limitKey: Self.key))
        }
        _ = try await broker.enqueue(operations, queue: queue)
        let claim = try await broker.claim(ClaimRequest(worker: worker, epoch: 1, capacity: 2), queue: queue)
        let ended = claim.operations.map { Completion(fence: $0.fence, id: $0.id, tracked: true) }
        _ = try await broker.complete(ended, isRepeat: false, worker: worker, thenClaim: nil, queue: queue)
    }

    private mutating func settle(_ operations: [ClaimedOperation], _ broker: RedisBroker) async throws {
        (finished, executing, executingFence) = (operations[0].id, operations[3].id, operations[3].fence)
        _ = try await broker.complete(
            [Completion(fence: operations[0].fence, id: finished, tracked: true)],
            isRepeat: false,
            worker: worker,
            thenClaim: nil,
            queue: queue
        )
        let dispositions: [Failure.Disposition] = [.retry(afterMilliseconds: 3_600_000), .dead]
        let failures = zip(operations[1...2], dispositions).map {
            Failure(fence: $0.fence, id: $0.id, disposition: $1, error: Array("{}".utf8))
        }
        _ = try await broker.fail(failures, worker: worker, queue: queue)
    }

    static let key = "acme"
    private static let envelope = OperationEnvelope(name: "noop").encoded()

    private static func operation(delay: Int64 = 0, expires: Int64 = 0) -> NewOperation {
        NewOperation(delayMilliseconds: delay, expiresMilliseconds: expires, envelope: envelope)
    }

    // MARK: Damage

    /// Runs one command on a key of this queue.
    @discardableResult
    func damage(_ name: String, _ key: String, _ arguments: any CustomStringConvertible...) throws -> RedisValue {
        var command = RedisCommand(name, prefix + key)
        for argument in arguments { command.append(argument.description) }
        return try redis.ask(command)[0].expectSuccess()
    }

    /// Returns the reference of a ready operation: the beginning of its record.
    func reference(_ id: OperationID) throws -> String {
        try damage("GETRANGE", "\(id)", 0, 63).expectString()
    }
}
