import Operations
import RedisClient
import BrokerModel
import TestSupport
import Testing

@testable import RedisBroker

/// All databases of a Redis server share one set of channels.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct DatabaseTests {
    @Test(
        "The Redis broker keeps the rule in another database than the first",
        .enabled(if: LongTests.areOn, "rules are those of the first database; channels have a test of their own"),
        arguments: BrokerConformance.all
    )
    func conformance(_ check: ConformanceCheck) async throws {
        let broker = try await ClockedBroker(queue: "bench", and: [BrokerBench.otherQueue], endpoint: Self.endpoint(5))
        defer { broker.close() }
        try await check.run(on: BrokerBench(broker.redis) { try await broker.advance(by: $0) })
    }

    @Test("Messages of one database do not reach another database with equal names")
    func apart() async throws {
        let namespace = uniqueNamespace("databases")
        let one = try await ClockedBroker(queue: "shared", namespace: namespace, endpoint: Self.endpoint(0))
        let other = try await ClockedBroker(queue: "shared", namespace: namespace, endpoint: Self.endpoint(1))
        defer { for broker in [one, other] { broker.close() } }
        let worker = WorkerID()
        var messages = one.redis.controlMessages(worker: worker, queues: ["shared"]).makeAsyncIterator()
        var events = one.redis.events(queues: ["shared"]).makeAsyncIterator()
        #expect(await messages.next() == .resubscribed)

        // Worker, fence and id are equal, so that the two differ only in the database.
        let operation = NewOperation(envelope: OperationEnvelope(name: "n").encoded())
        let request = CancelRequest(reason: "not here", by: "tester")
        let far = try await Self.claim(operation, worker, other.redis)
        _ = try await other.redis.cancel([operation.id], request: request, queue: "shared")
        _ = try await other.redis.cancelQueue("shared", request: request)
        let near = try await Self.claim(operation, worker, one.redis)
        #expect(far.fence == near.fence)
        _ = try await one.redis.cancel([operation.id], request: request, queue: "shared")

        // Messages on one connection keep their order.
        let message = try #require(await messages.next { $0 != .resubscribed })
        #expect(message == .cancel(queue: "shared", fence: near.fence))
        #expect(try await events.next().map { $0.from } == 1, "the first event of this database")
        let requested = try await one.redis.requestedCancels(of: [near.fence], worker: worker, queue: "shared")
        #expect(requested.throughFence == 0)
    }

    @Test("A message that an operation has ended does not end a wait until Redis confirms it")
    func forgedEnd() async throws {
        let broker = try await ClockedBroker(queue: "shared")
        defer { broker.close() }
        let worker = WorkerID()
        let operation = NewOperation(envelope: OperationEnvelope(name: "n").encoded())
        let claimed = try await Self.claim(operation, worker, broker.redis)
        async let states = broker.redis.awaitEnd(of: [operation.id], queue: "shared", timeout: nil)
        var waiter: String?
        try await eventually("the waiter listens and is known") {
            let channels = try await broker.direct.send(RedisCommand("PUBSUB", "CHANNELS", "*waiter:*")).array ?? []
            waiter = channels.compactMap(\.string).first { $0.hasPrefix(broker.prefix) }
            let extras = try await broker.direct.send(RedisCommand("EXISTS", broker.prefix + "x:\(operation.id)"))
            return waiter != nil && extras.int == 1
        }
        let channel = try #require(waiter)
        for text in ["f\(operation.id)", "c\(operation.id)", "f\(OperationID())", "f", "", "nonsense"] {
            try await broker.direct.send(RedisCommand("PUBLISH", channel, text)).expectSuccess()
        }
        let failure = Failure(fence: claimed.fence, id: operation.id, disposition: .dead, error: [])
        #expect(try await broker.redis.fail([failure], worker: worker, queue: "shared") == [.done(.dead)])
        #expect(try await states == [.dead])
    }

    private static func endpoint(_ database: Int) -> RedisEndpoint {
        var endpoint = TestServer.shared.endpoint
        endpoint.database = database
        return endpoint
    }

    private static func claim(_ operation: NewOperation, _ worker: WorkerID, _ broker: RedisBroker) async throws
        -> ClaimedOperation
    {
        let beat = Beat(worker: worker, epoch: 0, leaseMilliseconds: 15_000, intervalMilliseconds: 5000, info: [])
        _ = try broker.beat(beat, queue: "shared")
        _ = try await broker.enqueue([operation], queue: "shared")
        let claim = try await broker.claim(ClaimRequest(worker: worker, epoch: 0, capacity: 1), queue: "shared")
        return try #require(claim.operations.first)
    }
}

extension AsyncStream<ControlMessage>.Iterator {
    fileprivate mutating func next(where isWanted: (ControlMessage) -> Bool) async -> ControlMessage? {
        while let message = await next() {
            if isWanted(message) { return message }
        }
        return nil
    }
}
