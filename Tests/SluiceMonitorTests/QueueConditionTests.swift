import Operations
import SluiceOperator
import Testing

@Suite("Why the operations of a queue do not start", .timeLimit(.minutes(60)))
struct QueueConditionTests {
    private static let now: Int64 = 1_700_000_000_000

    private func queue(ready: Int = 0, retrying: Int = 0, workers: [WorkerRow] = []) -> QueueSnapshot {
        var queue = QueueSnapshot(queue: "mail", time: Self.now)
        queue.counts = [.ready: ready, .retrying: retrying]
        queue.workers = workers
        return queue
    }

    private func worker(_ phase: String, isLost: Bool = false, inFlight: Int = 0) -> WorkerRow {
        let info = WorkerInfo(
            host: "h",
            pid: 1,
            name: "w",
            slots: 4,
            queues: ["mail"],
            handles: ["Send"],
            version: "1",
            startedAt: Self.now,
            phase: phase
        )
        return WorkerRow(
            worker: WorkerID().description,
            leaseUntil: Self.now + (isLost ? -1 : 1000),
            beatAt: Self.now,
            inFlight: inFlight,
            info: info.encoded()
        )
    }

    @Test("Without operations, nothing is wrong with a queue that no worker serves")
    func empty() {
        #expect(QueueCondition.all(queue()).isEmpty && QueueCondition(queue()) == .running)
        #expect(QueueCondition.all(queue(ready: 1, workers: [worker("running")])).isEmpty)
    }

    @Test("Each reason is named, not only the first")
    func several() {
        var paused = queue(ready: 3)
        paused.paused = true
        paused.pause = OperatorTrace(at: Self.now, by: "ann", reason: "deploy")
        #expect(QueueCondition.all(paused) == [.paused(millisecondsLeft: nil), .unserved])
        #expect(QueueCondition.paused(millisecondsLeft: nil).sentence(paused).hasSuffix(": deploy"))
    }

    @Test("Operations of lost workers wait for a live worker, too")
    func lost() {
        let queue = queue(workers: [worker("running", isLost: true, inFlight: 4)])
        #expect(QueueCondition.all(queue) == [.unserved])
        #expect(
            QueueCondition.unserved.sentence(queue)
                == "no live worker serves it: 4 operations of lost workers wait for recovery"
        )
    }

    @Test("Quiet and draining workers start nothing, but one that runs is enough")
    func quiet() {
        let idle = [worker("quiet"), worker("draining")]
        #expect(QueueCondition.all(queue(ready: 1, workers: idle)) == [.quiet])
        #expect(QueueCondition.all(queue(ready: 0, workers: idle)).isEmpty)
        #expect(QueueCondition.all(queue(ready: 1, workers: idle + [worker("running")])).isEmpty)
    }

    @Test("Failed operations that will be retried need a worker, too")
    func retrying() {
        #expect(QueueCondition.all(queue(retrying: 2)) == [.unserved])
        let sentence = QueueCondition.unserved.sentence(queue(ready: 1, retrying: 2))
        #expect(sentence == "no live worker serves it: 1 operation is ready, 2 operations are retrying")
        #expect(QueueCondition.all(queue(retrying: 2, workers: [worker("quiet")])) == [.quiet])
        #expect(QueueCondition.all(queue(retrying: 2, workers: [worker("running")])).isEmpty)
    }

    @Test("A queue with more workers than were read may have one that takes work")
    func manyWorkers() {
        let lost = (0..<QueueSnapshot.workerLimit).map { _ in worker("running", isLost: true, inFlight: 1) }
        #expect(QueueCondition.all(queue(ready: 1, workers: lost)).isEmpty)
        #expect(QueueCondition.all(queue(ready: 1, workers: lost.dropLast())) == [.unserved])
        let quiet = (0..<QueueSnapshot.workerLimit).map { _ in worker("quiet") }
        #expect(QueueCondition.all(queue(ready: 1, workers: quiet)).isEmpty)
    }

    @Test("The rates of the last minutes give no estimate for a queue that cannot start operations")
    func estimate() {
        var statistics = Statistics()
        statistics.finished = 600
        let row = StatisticsReply.Row(start: Self.now / 60_000 * 60_000, name: nil, statistics: statistics)
        let recent = RecentStatistics(queue: "mail", StatisticsReply(time: Self.now, rows: [row]), minutes: 5)
        let served = queue(ready: 60, workers: [worker("running")])
        #expect(recent.drain(served).seconds != nil)
        var paused = served
        paused.paused = true
        #expect(recent.drain(paused) == .stalled)
        #expect(recent.drain(queue(ready: 60)) == .stalled)
        #expect(recent.drain(queue()) == .empty)
        var unhandled = served
        unhandled.unhandledCount = 60
        #expect(recent.drain(unhandled) == .stalled)
        #expect(recent.drain(queue(retrying: 60)) == .stalled)
        let idle = RecentStatistics(queue: "mail", StatisticsReply(time: Self.now, rows: []), minutes: 5)
        #expect(idle.drain(queue(retrying: 1, workers: [worker("running")])) == .retries)
        #expect(idle.drain(queue(ready: 1, retrying: 1, workers: [worker("running")])) == .stalled)
        #expect(recent.drain(queue(workers: [worker("running", isLost: true, inFlight: 1)])) == .stalled)
    }
}
