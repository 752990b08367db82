import Operations
import Testing

@testable import SluiceCLI
@testable import SluiceOperator

@Suite(.timeLimit(.minutes(60)))
struct StuckExaminationTests {
    private static let now: Int64 = 1_800_000_000_000

    /// A worker whose latest heartbeat, sent now, reports `busy` running operations.
    private func worker(busy: Int, stuck: Int = 0) -> WorkerRow {
        let info = WorkerInfo(
            host: "h1",
            pid: 7,
            name: "w1",
            slots: 4,
            busy: busy,
            queues: ["mail"],
            handles: [],
            version: "1",
            startedAt: 0,
            stuck: stuck
        )
        return WorkerRow(
            worker: "W1",
            leaseUntil: Self.now + 15_000,
            beatAt: Self.now,
            inFlight: 3,
            info: info.encoded()
        )
    }

    /// Operations that the worker started this many milliseconds ago, and one of another worker.
    private func snapshot(_ ages: [Int64]) -> QueueSnapshot {
        var snapshot = QueueSnapshot(queue: "mail", time: Self.now)
        snapshot.executing = (ages.map { ("W1", $0) } + [("W2", 90_000)]).map { worker, age in
            var row = ExecutingRow(
                worker: worker,
                fence: 1,
                header: OperationHeader(id: OperationID()),
                name: "noop",
                maxAttempts: 1
            )
            row.startedAt = Self.now - age
            return row
        }
        return snapshot
    }

    @Test(
        "A worker that holds more operations than its heartbeat reports is an error; new operations do not count"
    )
    func forgotten() throws {
        func finding(_ worker: WorkerRow, _ ages: [Int64]) -> Diagnosis? {
            StuckExamination.forgotten(by: worker, snapshot(ages))
        }
        #expect(finding(worker(busy: 2), [60_000, 90_000]) == nil)
        #expect(finding(worker(busy: 1, stuck: 1), [60_000, 90_000]) == nil)
        #expect(finding(worker(busy: 0), [20_000]) == nil)
        let found = try #require(finding(worker(busy: 1), [60_000, 90_000, 1000]))
        #expect(found.severity == .error && found.code == "workerForgot")
        #expect(found.message.hasPrefix("worker w1 on h1 holds 1 operation that it does not run, such as "))
        #expect(finding(worker(busy: 0), [60_000, 90_000])?.message.contains("holds 2 operations") == true)
    }
}
