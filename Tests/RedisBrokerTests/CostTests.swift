import Logging
import NIOPosix
import Operations
import RedisBroker
import RedisClient
import TestSupport
import Testing

/// Measures the cost of an operation for Redis, in numbers that do not depend on the machine or its load.
///
/// A change that makes each operation more expensive fails these tests. The margin is a tenth.
@Suite(.timeLimit(.minutes(60)))
struct CostTests {
    private static let count = 20_000
    private static let queue = "cost"
    private static let envelope = OperationEnvelope(
        name: "noop",
        arguments: Array(#"{"number":12345,"text":"\#(String(repeating: "x", count: 60))"}"#.utf8)
    ).encoded()

    @Test(
        "The commands and bytes of an operation do not grow",
        arguments: [
            // Commands of enqueue and of claim and completion, including those inside scripts, and bytes beyond the
            // envelope.
            (tracked: false, enqueue: 0.031, drain: 0.085, bytes: 92.0), (true, 0.053, 2.5, 342),
        ]
    )
    func costs(tracked: Bool, enqueue: Double, drain: Double, bytes: Double) async throws {
        let server = try TestServer.start()
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let broker = RedisBroker(server.endpoint, configuration: .patient(), logger: logger)
        defer { broker.close() }
        // The greeting of a connection and the loading of scripts do not count.
        try await broker.connect()
        let operations = (0..<Self.count).map { _ in NewOperation(tracked: tracked, envelope: Self.envelope) }
        _ = try await broker.enqueueAll([NewOperation(tracked: tracked, envelope: Self.envelope)], queue: Self.queue) {
            _ in
        }
        try await drainAll(broker, count: 1)
        let memory = try number("used_memory", "memory", server)

        let enqueued = try await commands(server) {
            _ = try await broker.enqueueAll(operations, queue: Self.queue) { _ in }
        }
        let used = (try number("used_memory", "memory", server) - memory) / Double(Self.count)
        let drained = try await commands(server) { try await drainAll(broker, count: Self.count) }

        expect(enqueued / Double(Self.count), atMost: enqueue, "commands to enqueue one")
        expect(drained / Double(Self.count), atMost: drain, "commands to claim and complete one")
        expect(used - Double(Self.envelope.count), atMost: bytes, "bytes of a pending one over its envelope")
    }

    @Test("A cancel of an operation without a record searches the running ones in parts")
    func cancelHeld() async throws {
        let server = try TestServer.start()
        let broker = RedisBroker(
            server.endpoint,
            configuration: .patient(),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        defer { broker.close() }
        let worker = WorkerID()
        let beat = Beat(worker: worker, epoch: 0, leaseMilliseconds: 3_600_000, intervalMilliseconds: 5000, info: [])
        _ = try broker.beat(beat, queue: Self.queue)
        let operations = (0..<2000).map { _ in NewOperation(tracked: false, envelope: Self.envelope) }
        _ = try await broker.enqueueAll(operations, queue: Self.queue) { _ in }
        let request = ClaimRequest(worker: worker, epoch: 0, capacity: SluiceDefaults.batch)
        while try await !broker.claim(request, queue: Self.queue).operations.isEmpty {}

        let cancel = CancelRequest(reason: "", by: "test")
        // The first call loads the scripts.
        _ = try await broker.cancel([OperationID()], request: cancel, queue: Self.queue)
        _ = try server.ask(RedisCommand("CONFIG", "RESETSTAT"))
        let outcomes = try await broker.cancel([OperationID()], request: cancel, queue: Self.queue)
        #expect(outcomes == [.unknown(intentStored: false)])
        let info = try server.ask(RedisCommand("INFO", "commandstats"))[0].string ?? ""
        let calls = try #require(info.firstMatch(of: /cmdstat_evalsha:calls=(\d+)/)).1
        // One call is the cancel itself. Each of the others searches about 500 operations.
        #expect(try (5...6).contains(#require(Int(calls))))
    }

    private func expect(_ value: Double, atMost limit: Double, _ what: String) {
        #expect(value > 0 && value <= limit, "\(what): \(value), at most \(limit)")
    }

    /// Drains as a worker under load does: each completion also claims.
    private func drainAll(_ broker: RedisBroker, count: Int) async throws {
        let worker = WorkerID()
        _ = try broker.beat(
            Beat(worker: worker, epoch: 0, leaseMilliseconds: 3_600_000, intervalMilliseconds: 5000, info: []),
            queue: Self.queue
        )
        let request = ClaimRequest(worker: worker, epoch: 0, capacity: SluiceDefaults.batch)
        var claim: Claim? = try await broker.claim(request, queue: Self.queue)
        var done = 0
        while let operations = claim?.operations, !operations.isEmpty {
            let completions = operations.map { Completion(fence: $0.fence, id: $0.id, tracked: $0.header.tracked) }
            done += completions.count
            claim = try await broker.complete(
                completions,
                isRepeat: false,
                worker: worker,
                thenClaim: request,
                queue: Self.queue
            ).claim
        }
        #expect(done == count)
    }

    private func commands(_ server: TestServer, _ body: () async throws -> Void) async throws -> Double {
        _ = try server.ask(RedisCommand("CONFIG", "RESETSTAT"))
        try await body()
        let info = try server.ask(RedisCommand("INFO", "commandstats"))[0].string ?? ""
        return info.matches(of: /calls=(\d+)/).reduce(0) { $0 + (Double($1.1) ?? 0) }
    }

    private func number(_ name: String, _ section: String, _ server: TestServer) throws -> Double {
        let info = try server.ask(RedisCommand("INFO", section))[0].string ?? ""
        let line = try #require(info.split(whereSeparator: \.isNewline).first { $0.hasPrefix(name + ":") })
        return try #require(Double(line.dropFirst(name.count + 1)))
    }
}
