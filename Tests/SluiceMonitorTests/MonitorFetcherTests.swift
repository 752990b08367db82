import Operations
import BrokerModel
import Synchronization
import Testing
import TestSupport

@testable import SluiceMonitor
@testable import SluiceOperator

@Suite("Reading for the monitor", .timeLimit(.minutes(60)))
struct MonitorFetcherTests {
    private final class Log: Sendable {
        private let entries = Mutex<[(MonitorFetcher.Outcome, ContinuousClock.Instant)]>([])
        func add(_ outcome: MonitorFetcher.Outcome) { entries.withLock { $0.append((outcome, .now)) } }
        var reads: [(NamespaceSnapshot, ContinuousClock.Instant)] {
            entries.withLock { $0 }.compactMap {
                if case .read(let snapshot, _) = $0.0 { (snapshot, $0.1) } else { nil }
            }
        }
        var groups: [[GroupRow]] {
            entries.withLock { $0 }.compactMap { if case .groups(let rows) = $0.0 { rows } else { nil } }
        }

        var schedules: [[ScheduleRow]] {
            entries.withLock { $0 }.compactMap { if case .schedules(let rows) = $0.0 { rows } else { nil } }
        }
        var lost: [[LostSummary]] {
            entries.withLock { $0 }.compactMap { if case .lost(let workers) = $0.0 { workers } else { nil } }
        }
        var details: [DetailReading] {
            entries.withLock { $0 }.compactMap { if case .read(_, let detail) = $0.0 { detail } else { nil } }
        }
    }

    private func operation(_ name: String = "noop") -> NewOperation {
        NewOperation(envelope: OperationEnvelope(name: name).encoded())
    }

    @Test(
        "A change in a queue is read long before the interval is over, but not within 250 ms after the last read"
    )
    func hints() async throws {
        let broker = InMemoryBroker()
        _ = try await broker.enqueue([operation()], queue: "a")
        let start = ContinuousClock.now
        // The interval is long enough that even a slow machine makes the second read only after a change.
        let fetcher = MonitorFetcher(broker, origin: start, interval: .seconds(3600))
        let log = Log()
        let task = Task { await fetcher.run { log.add($0) } }
        defer { task.cancel() }
        try await eventually { log.reads.count == 1 }
        // Changes are lost until the fetcher listens. A later one is noticed.
        try await eventually {
            _ = try await broker.enqueue([operation()], queue: "a")
            return log.reads.count >= 5
        }
        let reads = log.reads
        let elapsed = (reads.last?.1 ?? start) - start
        #expect(elapsed >= .milliseconds(250) * (reads.count - 1))
        #expect(elapsed < .seconds(1800))
        #expect((reads.last?.0.counts[.ready] ?? 0) > 1)
    }

    @Test("Reads for constant changes become rarer, down to one a second, and are fast again after a pause")
    func hintPace() {
        var pace = HintPace()
        let gaps = (0..<5).map { _ in
            pace.begin()
            return pace.hint()
        }
        #expect(gaps == [.milliseconds(250), .milliseconds(500), .seconds(1), .seconds(1), .seconds(1)])
        pace.begin()
        pace.begin()
        #expect(pace.hint() == .milliseconds(250))
    }

    @Test("The fetcher reads at once on request, with the shown operation")
    func hurry() async throws {
        let broker = InMemoryBroker()
        let new = operation("look.at.me")
        _ = try await broker.enqueue([new], queue: "a")
        let fetcher = MonitorFetcher(broker, origin: .now, interval: .seconds(60))
        let log = Log()
        let task = Task { await fetcher.run { log.add($0) } }
        defer { task.cancel() }
        try await eventually { log.reads.count == 1 }
        #expect(log.details.isEmpty)
        fetcher.look(at: .init(interval: .seconds(60), address: OperationAddress(queue: "a", id: new.id)))
        fetcher.hurry()
        try await eventually { log.details.count == 1 }
        #expect(log.details[0].detail?.displayName == "look.at.me")
    }

    @Test("Lost workers are read while their screen is shown")
    func lostWorkers() async throws {
        let broker = InMemoryBroker()
        let worker = WorkerID()
        let beat = Beat(worker: worker, epoch: 0, leaseMilliseconds: 15_000, intervalMilliseconds: 5000, info: [])
        _ = try broker.beat(beat, queue: "a")
        _ = try await broker.recoverWorker(worker: worker, queue: "a")
        let fetcher = MonitorFetcher(broker, origin: .now, interval: .seconds(60))
        let log = Log()
        await fetcher.runOnce { log.add($0) }
        #expect(log.lost.isEmpty)
        fetcher.look(at: .init(interval: .seconds(60), showsLost: true))
        await fetcher.runOnce { log.add($0) }
        #expect(log.lost.map { $0.map(\.id) } == [[worker.description]])
    }

    @Test("Schedules are read while their screen is shown")
    func schedules() async throws {
        let broker = InMemoryBroker()
        for (id, due) in [("late", 9_000_000_000_000), ("soon", 8_000_000_000_000)] as [(String, Int64)] {
            let change = ScheduleChange(id: id, kind: .set(definition: []), revision: 0, due: due)
            _ = try await broker.setSchedule(change, by: "ann", queue: "a")
        }
        let fetcher = MonitorFetcher(broker, origin: .now, interval: .seconds(60))
        let log = Log()
        await fetcher.runOnce { log.add($0) }
        #expect(log.schedules.isEmpty)
        fetcher.look(at: .init(interval: .seconds(60), showsSchedules: true))
        await fetcher.runOnce { log.add($0) }
        #expect(log.schedules.map { $0.map(\.stored.id) } == [["soon", "late"]])
    }

    @Test("Groups that have not ended are read while their screen is shown")
    func groups() async throws {
        let broker = InMemoryBroker()
        let ids = try await broker.openGroups(["nightly", "weekly", "ended"], queue: "a")
        _ = try await broker.enqueue([operation()], queue: "b")
        _ = try await broker.closeGroup(ids[2], by: "ann", queue: "a")
        let fetcher = MonitorFetcher(broker, origin: .now, interval: .seconds(60))
        let log = Log()
        await fetcher.runOnce { log.add($0) }
        #expect(log.groups.isEmpty)
        fetcher.look(at: .init(interval: .seconds(60), showsSchedules: true))
        await fetcher.runOnce { log.add($0) }
        #expect(log.groups.map { Set($0.map(\.name)) } == [["nightly", "weekly"]])
    }

    @Test("A stream of snapshots ends when its closure returns false")
    func stream() async throws {
        let broker = InMemoryBroker()
        _ = try await broker.enqueue([operation()], queue: "a")
        var lines: [String] = []
        try await SnapshotStream(broker, interval: .milliseconds(1)).run(note: { _ in }) { snapshot, rates in
            lines.append(StatLine(snapshot, rates: rates).text)
            return lines.count < 3
        }
        #expect(lines.count == 3)
        #expect(lines.allSatisfy { $0.contains(" ready 1 exec 0 fail 0 ") })
        #expect(lines[0].hasSuffix("in/s – out/s –"))
    }
}
