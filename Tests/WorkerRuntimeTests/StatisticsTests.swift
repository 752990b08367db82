import Operations
import TestSupport
import Testing

@testable import BrokerModel
@testable import WorkerRuntime

@Suite("Statistics of a worker", .timeLimit(.minutes(60)))
struct StatisticsTests {
    private func sum(_ broker: InMemoryBroker, queue: String = "default") async throws -> Statistics {
        try await broker.statistics(StatisticsQuery(.minute, count: 10), queue: queue).sum
    }

    private func named(_ broker: InMemoryBroker) async throws -> [String?: Statistics] {
        try await broker.statistics(StatisticsQuery(.day, count: 2), queue: "default").rows.reduce(into: [:]) {
            $0[$1.name, default: Statistics()].add($1.statistics)
        }
    }

    @Test("A worker counts its runs by name, and sends the last counts when it drains")
    func counts() async throws {
        let configuration = WorkerConfiguration.quick(lease: .seconds(300))
        let gate = Gate()
        let harness = Harness(configuration: configuration, handlers: [holding(gate)])
        for _ in 0..<3 { try await harness.broker.put("noop") }
        let dead = try await harness.broker.put("fail", retry: RetryPolicy(attempts: 1))
        let retried = try await harness.broker.put("fail", retry: RetryPolicy(attempts: 2, base: .seconds(600)))
        let held = try await harness.broker.put("hold")
        harness.start()
        #expect(try await harness.reaches(.dead, dead))
        #expect(try await harness.reaches(.retrying, retried))
        #expect(await comesTrue { gate.arrived == [held] })
        #expect(try await harness.cancel(held) == .requested(worker: harness.worker.core.id.description))
        #expect(try await harness.reaches(.cancelled, held))
        try await harness.stop()

        let all = try await sum(harness.broker)
        #expect((all.enqueued, all.started, all.finished, all.failed, all.retried, all.cancelled) == (6, 6, 3, 1, 1, 1))
        #expect(all.wait.count == 6 && all.run.count == 6)
        let names = try await named(harness.broker)
        #expect(Set(names.keys) == ["noop", "fail", "hold"])
        #expect(names["noop"]?.finished == 3 && names["noop"]?.run.count == 3)
        #expect(names["fail"].map { [$0.started, $0.failed, $0.retried, $0.finished] } == [2, 1, 1, 0])
        #expect(names["hold"].map { [$0.started, $0.cancelled] } == [1, 1])
    }

    @Test("Each run is counted once even if answers to heartbeats are lost")
    func lostAnswers() async throws {
        let harness = Harness(
            connection: { UnreliableBroker($0, seed: 26, callLoss: 0.2, replyLoss: 0.5, only: [.beat]) }
        )
        harness.start()
        let ids = try await runMany(harness)
        try await harness.stop()
        let all = try await sum(harness.broker)
        #expect((all.started, all.finished) == (Int64(ids), Int64(ids)))
        #expect(try await named(harness.broker)["noop"]?.run.count == Int64(ids))
    }

    /// Runs operations between heartbeats, many of which get no answer. Returns the number of operations, or -1 on
    /// failure.
    private func runMany(_ harness: Harness<UnreliableBroker<InMemoryBroker>>) async throws -> Int {
        var ids: [OperationID] = []
        while harness.worker.core.broker.losses < 20 {
            ids.append(try await harness.broker.put("noop"))
            harness.worker.core.beatNow.request()
            guard let id = ids.last, try await harness.reaches(.finished, id) else { return -1 }
        }
        return ids.count
    }

    @Test("The wait is measured by the server's clock, from the time at which an operation was ready")
    func waits() async throws {
        let broker = InMemoryBroker()
        let id = try await broker.put("noop")
        let readyAt = try #require(try await broker.details([id], queue: "default")[0]).record.header.readyAt
        let book = StatisticsBook()
        let sentAt = ContinuousClock.now
        book.answered(0, time: readyAt + 4000, sentAt: sentAt)
        // The book takes the server's time for that of the middle of the call, which ends now at the latest.
        let least = Duration.milliseconds(3900) - (ContinuousClock.now - sentAt) / 2
        book.started(0, "noop", readyAt: readyAt, at: sentAt)
        let wait = try #require(book.send(0)?.entries.first?.statistics.wait)
        #expect(Duration.microseconds(wait.microseconds) >= least && wait.count == 1)
    }

    @Test("Statistics are repeated unchanged until a heartbeat is answered; newer ones go with a later call")
    func repeats() {
        let book = StatisticsBook()
        #expect(book.send(0) == nil)
        book.ended(0, ("noop", .now), .finished(result: []))
        let first = book.send(0)
        book.ended(0, ("noop", .now), .finished(result: []))
        #expect(first?.number == 1 && book.send(0) == first)
        book.answered(0, time: 1000, sentAt: .now)
        let second = book.send(0)
        #expect(second?.number == 2 && second?.entries.map(\.statistics.finished) == [1])
        book.ended(0, ("fail", .now), .failed(.dead, error: []))
        let rest = book.takeAll(0)
        #expect(rest.first == second && rest.map(\.number) == [2, 3])
        #expect(book.takeAll(0).isEmpty && book.send(1) == nil)
    }

    @Test("Names beyond the limit are counted together, and an unreadable operation counts as failed")
    func limits() {
        let book = StatisticsBook()
        for number in 0..<SluiceDefaults.statisticsNames + 5 {
            book.started(0, "name-\(number)", readyAt: 0, at: .now)
        }
        book.ended(0, nil, .failed(.dead, error: []))
        // An operation that goes back or is cancelled before it ran is not counted.
        book.ended(0, nil, .returned(.front))
        book.ended(0, nil, .failed(.cancelled, error: []))
        let entries = book.send(0)?.entries ?? []
        #expect(entries.count == SluiceDefaults.statisticsNames + 1)
        let others = entries.first { $0.name == nil }?.statistics
        #expect(others?.started == 5 && others?.failed == 1 && others?.run.count == 0)
    }
}

extension WorkerBroker {
    fileprivate var losses: Int { (self as? UnreliableBroker<InMemoryBroker>)?.lossCount ?? 0 }
}
