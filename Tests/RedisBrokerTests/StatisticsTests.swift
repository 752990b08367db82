import BrokerModel
import Operations
import RedisClient
import TestSupport
import Testing

@testable import RedisBroker

/// Tests statistics in Redis that the conformance suite cannot see.
@Suite(.timeLimit(.minutes(60)))
struct StatisticsTests {
    private static let queue = "statistics"

    private func beat(_ worker: WorkerID, _ statistics: StatisticsDelta) -> Beat {
        Beat(
            worker: worker,
            epoch: 0,
            leaseMilliseconds: 15_000,
            intervalMilliseconds: 5000,
            info: [],
            statistics: statistics
        )
    }

    @Test("A heartbeat whose answer is lost has stored its statistics, and a repeat does not count them again")
    func lostAnswer() async throws {
        let proxy = try await FaultProxy.start(to: TestServer.shared.endpoint)
        defer { proxy.stop() }
        let broker = try await ClockedBroker(queue: Self.queue, endpoint: proxy.endpoint)
        defer { broker.close() }
        let worker = WorkerID()
        _ = try broker.redis.beat(beat(worker, StatisticsDelta(number: 1, entries: [])), queue: Self.queue)
        var statistics = Statistics()
        statistics.finished = 3
        let delta = StatisticsDelta(
            number: 2,
            entries: [StatisticsDelta.Entry(name: "lost-statistics", statistics: statistics)]
        )
        proxy.set(.loseReplies(count: 1, marker: "lost-statistics"))
        #expect(throws: OperationsError.self) { try broker.redis.beat(beat(worker, delta), queue: Self.queue) }
        proxy.set(.none)
        let query = StatisticsQuery(.hour, count: 1)
        #expect(try await broker.redis.statistics(query, queue: Self.queue).sum.finished == 3)
        _ = try broker.redis.beat(beat(worker, delta), queue: Self.queue)
        #expect(try await broker.redis.statistics(query, queue: Self.queue).sum.finished == 3)
    }

    @Test("take_statistics.lua has the constants of SluiceDefaults.swift")
    func limits() throws {
        let source = ScriptAssembler(testClock: false).source(of: .beat)
        #expect(source.contains("STATISTICS_NAMES = \(SluiceDefaults.statisticsNames)\n"))
    }

    /// Statistics of the largest size: each number is above 65,535.
    private var large: Statistics {
        var statistics = Statistics()
        (statistics.started, statistics.finished, statistics.failed) = (1 << 40, 1 << 40, 1 << 40)
        (statistics.retried, statistics.cancelled) = (1 << 40, 1 << 40)
        let counts = [Int64](repeating: 70_000, count: DurationHistogram.bucketCount)
        statistics.wait = DurationHistogram(counts: counts, microseconds: 1 << 45)
        statistics.run = statistics.wait
        return statistics
    }

    @Test("The statistics of a queue with all names and the largest numbers take at most 8 MiB, and each key expires")
    func size() async throws {
        let broker = try await ClockedBroker(queue: Self.queue)
        defer { broker.close() }
        let worker = WorkerID()
        // The names are long, and more than Redis stores. Each heartbeat sends half of them.
        let names = (0..<SluiceDefaults.statisticsNames + 20).map {
            "\($0)" + String(repeating: "x", count: 125 - "\($0)".count)
        }
        var number: Int64 = 0
        func send(_ names: ArraySlice<String>) throws {
            number += 1
            let entries = names.map { StatisticsDelta.Entry(name: $0, statistics: large) }
            _ = try broker.redis.beat(
                beat(worker, StatisticsDelta(number: number, entries: entries)),
                queue: Self.queue
            )
        }
        // First 29 days, then two days by the hour, and finally by the minute.
        for _ in 0..<28 {
            for part in [names[..<50], names[50...]] { try send(part) }
            try await broker.advance(by: .seconds(86_400))
        }
        for _ in 0..<24 {
            for part in [names[..<50], names[50...]] { try send(part) }
            try await broker.advance(by: .seconds(3600))
        }
        for minute in 0..<1440 {
            if minute % 60 == 0 {
                for part in [names[..<50], names[50...]] { try send(part) }
            } else {
                try send(names[..<1])
            }
            try await broker.advance(by: .seconds(60))
        }
        let keys = try await broker.direct.send(RedisCommand("KEYS", broker.prefix + "statistics:*")).expectArray()
        var (bytes, rows) = (0, 0)
        for key in keys.compactMap(\.string) {
            let usage = try await broker.direct.send(RedisCommand("MEMORY", "USAGE", key, "SAMPLES", "0"))
            let length = try await broker.direct.send(RedisCommand("HLEN", key))
            let left = try await broker.direct.send(RedisCommand("TTL", key)).int ?? -1
            // Hours of the 29 days before have not expired, because the scripts use the test's clock.
            let kept = isKept(key, at: broker.clock.now)
            if kept { (bytes, rows) = (bytes + (usage.int ?? 0), rows + (length.int ?? 0)) }
            #expect(left > 0 && left <= 31 * 86_400, "\(key)")
        }
        print("statistics: \(rows) counts in \(bytes) bytes")
        #expect(rows >= 1440 + (48 + 30) * (SluiceDefaults.statisticsNames + 1))
        #expect(bytes <= 8 << 20)
        let minutes = try await broker.redis.statistics(StatisticsQuery(.minute, count: 1440), queue: Self.queue)
        #expect(minutes.rows.count == 1439)
    }

    /// Returns whether a key would not have expired yet.
    private func isKept(_ key: String, at now: Int64) -> Bool {
        let parts = key.split(separator: ":").suffix(2)
        guard let number = parts.last.flatMap({ Int64($0) }) else { return false }
        switch parts.first {
        case "m": return (number * 3_600_000) > now - 27 * 3_600_000
        case "h": return (number * 3_600_000) > now - 50 * 3_600_000
        default: return true
        }
    }
}
