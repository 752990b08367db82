import Foundation
import Logging
import Operations
import RedisBroker
import RedisClient
import TestSupport
import Testing

@testable import WorkerRuntime

@Suite("An element that cannot be read", .nothingRefused, .timeLimit(.minutes(60)))
struct UnreadableTests {
    private let namespace = uniqueNamespace("unreadable")
    private let broker: RedisBroker

    init() {
        broker = RedisBroker(
            TestRedis.shared.endpoint,
            configuration: .patient(namespace: namespace),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    /// Enqueues ten good operations. In their middle are one whose body is not JSON and one with an unknown header
    /// version.
    private func enqueue(tracked: Bool) async throws -> (good: [OperationID], bad: [OperationID]) {
        let noop = OperationEnvelope(name: "noop").encoded()
        let first = (0..<5).map { _ in NewOperation(tracked: tracked, envelope: noop) }
        let body = NewOperation(tracked: tracked, envelope: Array("not json".utf8))
        _ = try await broker.enqueue(first + [body], queue: "q")
        let header = NewOperation(tracked: false, envelope: noop)
        var element = header.element
        element[0] = UInt8(ascii: "2")
        try TestRedis.shared.ask(RedisCommand("RPUSH", "{\(namespace)/q}:lane:2", element))[0].expectSuccess()
        let last = (0..<5).map { _ in NewOperation(tracked: tracked, envelope: noop) }
        _ = try await broker.enqueue(last, queue: "q")
        return ((first + last).map(\.id), [body.id, header.id])
    }

    @Test("An unreadable element ends dead, and all others of the reply run", arguments: [true, false])
    func runsOthers(tracked: Bool) async throws {
        let (good, bad) = try await enqueue(tracked: tracked)
        var registry = OperationRegistry()
        registry.register(OperationHandler(name: "noop") { _, _ in [] })
        let worker = WorkerService(
            broker: broker,
            registry: registry,
            configuration: WorkerConfiguration(queues: ["q"], slots: 2, burst: .all),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        try await worker.run()
        let snapshot = try await broker.snapshot(queue: "q", executingRows: 10)
        #expect(snapshot.totals["finished"] == 10 && snapshot.totals["dead"] == 2)
        #expect(snapshot.counts[.executing] == 0)
        #expect(worker.core.info().malformed == 2)
        if tracked {
            #expect(try await broker.details(good, queue: "q").allSatisfy { $0?.state == .finished })
        }
        for detail in try await broker.details(bad, queue: "q") {
            let error = try JSONDecoder().decode(OperationFailure.self, from: Data(detail?.errors.last?.error ?? []))
            #expect(detail?.state == .dead && error.type == "malformed" && error.attempt == 1)
        }
        #expect(try await broker.page(state: .dead, queue: "q", cursor: nil, limit: 10).operations.count == 2)
        broker.close()
    }

    @Test("Claim and reconcile return an unreadable element with its fault")
    func handedOn() async throws {
        _ = try await enqueue(tracked: false)
        let worker = WorkerID()
        let beat = Beat(worker: worker, epoch: 1, leaseMilliseconds: 3_600_000, intervalMilliseconds: 20_000, info: [])
        _ = try broker.beat(beat, queue: "q")
        let claim = try await broker.claim(ClaimRequest(worker: worker, epoch: 1, capacity: 100), queue: "q")
        #expect(claim.operations.count == 12)
        #expect(claim.operations.compactMap(\.fault) == ["an operation's header cannot be read: another version"])
        let found = try await broker.reconcile(known: [], worker: worker, epoch: 2, queue: "q").found
        #expect(found == claim.operations)
        #expect(try await broker.snapshot(queue: "q", executingRows: 20).executing.count == 12)
        broker.close()
    }
}
