import Foundation
import Logging
import Operations
import RedisClient
import TestSupport
import Testing

@testable import RedisBroker

/// Tests a claim that follows a wait in the same connection, as Redis treats it.
@Suite("A claim behind the wait for a wake-up token", .timeLimit(.minutes(60)))
struct WakeUpTests {
    private static let queue = "wake-ups"

    /// A worker with a lease, and its claim, which Redis delays until the wake-up token arrives.
    private struct Setup {
        let server: TestServer
        let broker: RedisBroker
        let worker = WorkerID()

        init(_ endpoint: ((TestServer) throws -> RedisEndpoint)? = nil) async throws {
            server = try TestServer.start()
            broker = RedisBroker(
                try endpoint?(server) ?? server.endpoint,
                configuration: .patient(),
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
            let beat = Beat(
                worker: worker,
                epoch: 0,
                leaseMilliseconds: 3_600_000,
                intervalMilliseconds: 5000,
                info: Array("{}".utf8)
            )
            _ = try broker.beat(beat, queue: WakeUpTests.queue)
        }

        func claim() -> Task<WakeUpAnswer, any Error> {
            let request = ClaimRequest(worker: worker, epoch: 0, capacity: 2, onlyIfIdle: true)
            return Task { try await broker.claimAtWakeUp(request, queue: WakeUpTests.queue, timeout: .seconds(600)) }
        }

        func enqueue(_ count: Int = 1) async throws -> [OperationID] {
            let envelope = OperationEnvelope(name: "noop").encoded()
            let operations = (0..<count).map { _ in NewOperation(envelope: envelope) }
            _ = try await broker.enqueue(operations, queue: WakeUpTests.queue)
            return operations.map(\.id)
        }

        /// Waits until Redis has received the claim and delays it.
        func untilPutOff() async throws {
            let isPutOff = try await comesTrue {
                let clients = try server.ask(RedisCommand("CLIENT", "LIST"))[0].string ?? ""
                guard let wakeUps = clients.split(separator: "\n").first(where: { $0.contains(":wake-up") }) else {
                    return false
                }
                return wakeUps.contains(" cmd=blpop ") && !wakeUps.contains(" qbuf=0 ")
            }
            #expect(isPutOff)
        }
    }

    @Test("is made by Redis when it wakes")
    func wake() async throws {
        let setup = try await Setup()
        defer { setup.broker.close() }
        let claim = setup.claim()
        try await setup.untilPutOff()
        let ids = try await setup.enqueue()
        let answer = try await claim.value
        #expect(answer.wasWoken && answer.claim?.operations.map(\.id) == ids)
    }

    @Test("is also made if the wait is cancelled, and returns the operations that it took")
    func cancel() async throws {
        let setup = try await Setup()
        defer { setup.broker.close() }
        let ids = try await setup.enqueue()
        #expect(try await setup.broker.waitForWakeUp(queues: [Self.queue], timeout: patience) == Self.queue)
        let claim = setup.claim()
        try await setup.untilPutOff()
        claim.cancel()
        let answer = try await claim.value
        #expect(!answer.wasWoken && answer.claim?.operations.map(\.id) == ids)
    }

    @Test("takes nothing for a worker that already holds an operation, and reports the wake-up")
    func busy() async throws {
        let setup = try await Setup()
        defer { setup.broker.close() }
        _ = try await setup.enqueue()
        #expect(try await setup.broker.waitForWakeUp(queues: [Self.queue], timeout: patience) == Self.queue)
        let claim = setup.claim()
        try await setup.untilPutOff()
        let request = ClaimRequest(worker: setup.worker, epoch: 0, capacity: 1)
        #expect(try await setup.broker.claim(request, queue: Self.queue).operations.count == 1)
        _ = try await setup.enqueue()
        #expect(try await claim.value == WakeUpAnswer(wasWoken: true, claim: Claim(status: .busy)))
        #expect(try await setup.broker.snapshot(queue: Self.queue, executingRows: 0).counts[.ready] == 1)
    }

    @Test("is made even if Redis has lost the script meanwhile")
    func forgotten() async throws {
        let setup = try await Setup()
        defer { setup.broker.close() }
        let claim = setup.claim()
        try await setup.untilPutOff()
        _ = try setup.server.ask(RedisCommand("SCRIPT", "FLUSH"))
        let ids = try await setup.enqueue()
        let answer = try await claim.value
        #expect(answer.wasWoken && answer.claim?.operations.map(\.id) == ids)
    }

    @Test("without an answer is found by a reconcile, because Redis refused the wait but not the claim")
    func refused() async throws {
        let setup = try await Setup { server in
            _ = try server.ask(
                RedisCommand("ACL", "SETUSER", "deaf", "on", ">secret", "~*", "&*", "+@all", "-blpop")
            )
            var endpoint = server.endpoint
            endpoint.user = "deaf"
            endpoint.password = "secret"
            return endpoint
        }
        defer { setup.broker.close() }
        let ids = try await setup.enqueue()
        let result = await setup.claim().result
        #expect(throws: OperationsError.self) { try result.get() }
        let found = try await setup.broker.reconcile(known: [], worker: setup.worker, epoch: 1, queue: Self.queue).found
        #expect(found.map(\.id) == ids)
    }
}
