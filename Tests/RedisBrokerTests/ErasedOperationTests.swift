import Operations
import RedisClient
import TestSupport
import Testing

@testable import RedisBroker
@testable import BrokerModel

/// The script `erase.lua` derives the keys of an operation by rules. The tests check that it finds every key that a
/// script wrote.
@Suite("An operation that is removed", .timeLimit(.minutes(60)))
struct ErasedOperationTests {
    enum Trace: String, CaseIterable {
        case record, result, error, retried, lost, log, progress, checkpoint, effect, cancel, waiter

        /// The prefix of the key that holds the trace.
        var kind: String {
            switch self {
            case .record: ""
            case .error, .retried, .lost: "errors:"
            case .log: "log:"
            case .result, .progress, .checkpoint, .effect, .cancel, .waiter: "x:"
            }
        }
    }

    @Test("by an operator leaves no key behind", arguments: Trace.allCases)
    func nothingIsLeft(_ trace: Trace) async throws {
        let broker = try await ClockedBroker(queue: "bench")
        defer { broker.close() }
        let bench = BrokerBench(broker.redis) { try await broker.advance(by: $0) }
        let id = try await end(with: trace, bench)
        #expect(try keys(of: id, broker).contains(broker.prefix + trace.kind + id.description))
        #expect(try await broker.redis.remove([id], by: "tester", queue: "bench") == [.done])
        #expect(try keys(of: id, broker) == [])
    }

    /// The operations have more keys than one DEL takes, because a claim may remove more than a thousand expired ones.
    /// Operations of the first DEL have an error, and the last one has only its record.
    @Test("is removed completely with a thousand others")
    func many() async throws {
        let broker = try await ClockedBroker(queue: "bench")
        defer { broker.close() }
        let bench = BrokerBench(broker.redis) { try await broker.advance(by: $0) }
        let ids = try await [end(with: .error, bench)] + bench.enqueue(500) + bench.enqueue(500)
        var command = RedisCommand("EVAL", try #require(RedisBroker.scriptSource(named: "remove")), 1)
        command.append(broker.prefix + "meta")
        command.append("tester")
        for id in ids { command.append(id.description) }
        let reply = try TestServer.shared.ask(command)[0]
        #expect(reply.string == String(repeating: "1", count: ids.count))
        for id in [ids[0], ids[999], ids[1000]] { #expect(try keys(of: id, broker) == []) }
    }

    /// Two ends remove four old operations together. One of them has an error and one a log.
    @Test("by its age leaves no key behind, independent of the traces of others")
    func trimmed() async throws {
        let broker = try await ClockedBroker(queue: "bench")
        defer { broker.close() }
        let bench = BrokerBench(broker.redis) { try await broker.advance(by: $0) }
        var ids: [OperationID] = []
        for trace in [Trace.record, .retried, .log, .record] { ids.append(try await end(with: trace, bench)) }
        try await bench.advance(.milliseconds((SluiceDefaults.retention[.finished]?.ageMilliseconds ?? 0) + 1))
        let worker = try bench.worker()
        try await bench.enqueue(2)
        let completions = try await bench.claim(worker, 2).operations.map {
            Completion(fence: $0.fence, id: $0.id, tracked: true)
        }
        let reply = try await bench.broker.complete(
            completions,
            isRepeat: false,
            worker: worker,
            thenClaim: nil,
            queue: bench.queue
        )
        #expect(reply.outcomes == [.done(.finished), .done(.finished)])
        #expect(try await bench.snapshot().totals["trimmed"] == 4)
        for id in ids { #expect(try keys(of: id, broker) == []) }
    }

    /// Runs an operation that ends with this trace and with as few others as possible.
    private func end(with trace: Trace, _ bench: BrokerBench) async throws -> OperationID {
        let worker = try bench.worker()
        let claimed = try await bench.running(worker)
        switch trace {
        case .record: _ = try await bench.complete(claimed, worker)
        case .result: _ = try await bench.complete(claimed, worker, result: "7")
        case .error: _ = try await bench.fail(claimed, worker, .dead)
        case .retried:
            _ = try await bench.fail(claimed, worker, .retry(afterMilliseconds: 60_000))
            _ = try await bench.cancel(claimed.id)
            #expect(try await bench.broker.retry([claimed.id], by: "tester", queue: bench.queue) == [.done])
            _ = try await bench.complete(try await bench.claimOne(worker), worker)
        case .lost: try await lose(bench)
        case .log: try await report(.log(line: Array("a line".utf8)))
        case .progress: try await report(.progress(fraction: 0.5, message: "half"))
        case .checkpoint: try await report(.checkpoint(Array("1".utf8)))
        case .effect:
            let effect = EffectResult(fence: claimed.fence, id: claimed.id, label: "charge", result: [49])
            #expect(try await bench.broker.remember(effect, worker: worker, queue: bench.queue) == .stored)
            _ = try await bench.complete(claimed, worker)
        case .cancel:
            _ = try await bench.cancel(claimed.id)
            _ = try await bench.fail(claimed, worker, .cancelled, error: "")
        case .waiter:
            _ = try await bench.broker.awaitEnd(of: [claimed.id], queue: bench.queue, timeout: .zero)
            _ = try await bench.complete(claimed, worker)
        }
        return claimed.id

        func report(_ content: Report.Content) async throws {
            #expect(try await bench.report(claimed, worker, content))
            _ = try await bench.complete(claimed, worker)
        }
    }

    /// Loses every worker that claims the operation, until the operation is dead.
    private func lose(_ bench: BrokerBench) async throws {
        let sweeper = try bench.worker()
        for _ in 1..<SluiceDefaults.maxDeliveries {
            try await bench.lapse(allBut: sweeper)
            _ = try await bench.sweepAll()
            _ = try await bench.claimAfterLoss(try bench.worker())
        }
        try await bench.lapse(allBut: sweeper)
        _ = try await bench.sweepAll()
    }

    private func keys(of id: OperationID, _ broker: ClockedBroker) throws -> [String] {
        // KEYS may read the whole server, because the namespace is separate and the server is for tests.
        let pattern = broker.prefix.replacing("{", with: "\\{") + "*\(id)*"
        let reply = try TestServer.shared.ask(RedisCommand("KEYS", pattern))[0]
        return (reply.array ?? []).compactMap(\.string).sorted()
    }
}
