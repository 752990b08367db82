import Operations
import RedisClient
import TestSupport
import Testing

@testable import RedisBroker
@testable import SluiceTesting

/// What is kept of an operation is looked for by rules (`erase` in `ending.lua`): nothing that somebody wrote may be overlooked.
@Suite("An operation that is removed")
struct ErasedOperationTests {
    enum Trace: String, CaseIterable {
        case record, result, error, lost, log, progress, checkpoint, cancel, waiter

        /// The key that holds it, before the id.
        var kind: String {
            switch self {
            case .record: ""
            case .error, .lost: "errors:"
            case .log: "log:"
            case .result, .progress, .checkpoint, .cancel, .waiter: "x:"
            }
        }
    }

    @Test("leaves no key behind", arguments: Trace.allCases)
    func nothingIsLeft(_ trace: Trace) async throws {
        let broker = try await ClockedBroker(queue: "bench")
        defer { broker.close() }
        let bench = BrokerBench(broker.redis) { try await broker.advance(by: $0) }
        let id = try await end(with: trace, bench)
        #expect(try keys(of: id, broker).contains(broker.prefix + trace.kind + id.description))
        #expect(try await broker.redis.remove([id], queue: "bench") == [.done])
        #expect(try keys(of: id, broker) == [])
    }

    /// Runs an operation that ends with this trace and with as few others as possible.
    private func end(with trace: Trace, _ bench: BrokerBench) async throws -> OperationID {
        let worker = try bench.worker()
        let claimed = try await bench.running(worker)
        switch trace {
        case .record: _ = try await bench.complete(claimed, worker)
        case .result: _ = try await bench.complete(claimed, worker, result: "7")
        case .error: _ = try await bench.fail(claimed, worker, .dead)
        case .lost: try await lose(bench)
        case .log: try await report(.log(line: Array("a line".utf8)))
        case .progress: try await report(.progress(fraction: 0.5, message: "half"))
        case .checkpoint: try await report(.checkpoint(Array("1".utf8)))
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

    /// Every worker that gets it is lost, until it is dead.
    private func lose(_ bench: BrokerBench) async throws {
        let sweeper = try bench.worker()
        for _ in 1..<Defaults.maxDeliveries {
            try await bench.lapse(allBut: sweeper)
            _ = try await bench.sweepAll()
            _ = try await bench.claimAfterLoss(try bench.worker())
        }
        try await bench.lapse(allBut: sweeper)
        _ = try await bench.sweepAll()
    }

    private func keys(of id: OperationID, _ broker: ClockedBroker) throws -> [String] {
        // Of a namespace of its own, on a server for tests: KEYS may look at everything.
        let pattern = broker.prefix.replacing("{", with: "\\{") + "*\(id)*"
        let reply = try TestServer.shared.ask(RedisCommand("KEYS", pattern))[0]
        return (reply.array ?? []).compactMap(\.string).sorted()
    }
}
