import BrokerModel
import Logging
import Operations
import RedisClient
import TestSupport
import Testing

@testable import RedisBroker

@Suite("The protocol number of a namespace", .timeLimit(.minutes(60)))
struct ProtocolTests {
    private static let queue = "q"

    private static func broker(_ namespace: String, _ server: TestServer = .shared) -> RedisBroker {
        RedisBroker(
            server.endpoint,
            configuration: .patient(namespace: namespace),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    private static var operation: NewOperation { NewOperation(envelope: OperationEnvelope(name: "n").encoded()) }

    private static func request() -> ClaimRequest { ClaimRequest(worker: WorkerID(), epoch: 1, capacity: 1) }

    @Test("Programs that use an empty namespace at the same time agree on the number")
    func together() async throws {
        let namespace = uniqueNamespace("protocol")
        let brokers = (0..<4).map { _ in Self.broker(namespace) }
        defer { for broker in brokers { broker.close() } }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, broker) in brokers.enumerated() {
                group.addTask { _ = try await broker.enqueue([Self.operation], queue: "q\(number)") }
            }
            try await group.waitForAll()
        }
        #expect(try await brokers[0].queues() == (0..<4).map { "q\($0)" })
        let stored = try await brokers[0].link.send(RedisCommand("GET", brokers[0].keys.protocolNumber))
        #expect(stored.string == "\(NamespaceProtocol.number)")
    }

    @Test("A client that has not checked the namespace is refused before it writes, claims or reads")
    func refusal() async throws {
        let namespace = uniqueNamespace("protocol")
        let direct = Self.broker(namespace)
        defer { direct.close() }
        try await direct.link.send(RedisCommand("SET", direct.keys.protocolNumber, "2")).expectSuccess()
        let calls: [(String, @Sendable (RedisBroker) async throws -> Void)] = [
            ("connect", { try await $0.connect() }),
            ("enqueue", { _ = try await $0.enqueue([Self.operation], queue: Self.queue) }),
            ("enqueueAll", { _ = try await $0.enqueueAll([Self.operation], queue: Self.queue) { _ in } }),
            ("claim", { _ = try await $0.claim(Self.request(), queue: Self.queue) }),
            ("claimAtWakeUp", { _ = try await $0.claimAtWakeUp(Self.request(), queue: Self.queue, timeout: .zero) }),
            ("beat", { broker in try await Self.beat(broker) }),
            ("queues", { _ = try await $0.queues() }),
            ("pause", { try await $0.setPaused(.pause(by: "tester"), queue: Self.queue) }),
        ]
        for (name, call) in calls {
            let broker = Self.broker(namespace)
            let error = await #expect(throws: OperationsError.self, "\(name)") { try await call(broker) }
            #expect(error?.code == .incompatible, "\(name)")
            broker.close()
        }
        let key = direct.keys.meta(Self.queue)
        #expect(try await direct.link.send(RedisCommand("EXISTS", key)).int == 0)
    }

    /// Sends a heartbeat on another thread, because the call blocks its thread.
    private static func beat(_ broker: RedisBroker) async throws {
        let beat = Beat(worker: WorkerID(), epoch: 1, leaseMilliseconds: 15_000, intervalMilliseconds: 5000, info: [])
        try await Task.detached { _ = try broker.beat(beat, queue: queue) }.value
    }

    @Test("Once the number is known, no call reads it again")
    func cost() async throws {
        let server = try TestServer.start()
        defer { server.stop() }
        let broker = Self.broker(uniqueNamespace("protocol"), server)
        defer { broker.close() }
        _ = try await broker.enqueue([Self.operation], queue: Self.queue)
        // The call only loads the scripts.
        _ = try await broker.claim(Self.request(), queue: Self.queue)
        let commands = try await Self.commands(of: broker) {
            for _ in 0..<10 { _ = try await broker.enqueue([Self.operation], queue: Self.queue) }
            _ = try await broker.claim(Self.request(), queue: Self.queue)
            _ = try await broker.queues()
        }
        #expect(commands == ["evalsha": 11, "smembers": 1])
    }

    /// Returns the commands that a connection sends, without those inside scripts.
    private static func commands(of broker: RedisBroker, _ body: () async throws -> Void) async throws -> [String: Int]
    {
        func counts() async throws -> [String: Int] {
            let info = try await broker.link.send(RedisCommand("INFO", "commandstats")).string ?? ""
            var counts: [String: Int] = [:]
            for match in info.matches(of: /cmdstat_(get|set|sadd|smembers|evalsha):calls=(\d+)/) {
                counts[String(match.1)] = Int(match.2)
            }
            return counts
        }
        let before = try await counts()
        try await body()
        return try await counts().merging(before) { $0 - $1 }.filter { $0.value > 0 }
    }
}
