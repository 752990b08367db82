import Operations
import TerminalText
import Testing

@testable import SluiceMonitor
@testable import SluiceOperator

@Suite("Rates", .timeLimit(.minutes(60)))
struct RateTests {
    private func totals(_ enqueued: Int64, _ finished: Int64 = 0) -> FlowTotals {
        FlowTotals(["enqueued": enqueued, "finished": finished, "retried": 1])
    }

    @Test("One snapshot has no rate, which differs from a rate of zero")
    func unknown() {
        var meter = RateMeter()
        #expect(meter.rates == Rates())
        meter.add(totals(5), at: 1_000)
        #expect(meter.rates == Rates())
        meter.add(totals(5), at: 2_000)
        #expect(meter.rates == Rates(enqueued: 0, ended: 0, failed: 0))
    }

    @Test("A rate is the growth of a total by server time, averaged over at least two seconds")
    func window() {
        var meter = RateMeter()
        for second in 0...10 { meter.add(totals(Int64(second * 10), Int64(second * 4)), at: Int64(second) * 1_000) }
        #expect(meter.rates == Rates(enqueued: 10, ended: 4, failed: 0))
        meter.add(totals(200, 40), at: 10_250)
        #expect(abs((meter.rates.enqueued ?? 0) - 120.0 / 2.25) < 0.001)
    }

    @Test("The rate across a gap is the average over the gap")
    func gap() {
        var meter = RateMeter()
        meter.add(totals(0), at: 0)
        meter.add(totals(10), at: 1_000)
        meter.add(totals(1_010), at: 101_000)
        #expect(meter.rates.enqueued == 10)
    }

    @Test("Totals or a clock that decrease start a new measurement instead of a negative rate")
    func restart() {
        for (next, time) in [(totals(3), Int64(2_000)), (totals(20), 500)] {
            var meter = RateMeter()
            meter.add(totals(10), at: 1_000)
            meter.add(next, at: time)
            #expect(meter.rates == Rates())
        }
    }

    @Test("Every end counts as out, and every failed attempt as an error")
    func flows() {
        let totals = FlowTotals(["finished": 1, "dead": 2, "cancelled": 4, "expired": 8, "retried": 16, "removed": 99])
        #expect((totals.ended, totals.failed) == (15, 18))
    }

    @Test("The rate of the namespace is the sum of the known rates")
    func sum() {
        var rates = NamespaceRates()
        for (time, amount) in [(Int64(0), Int64(0)), (2_000, 10)] {
            let queues = ["a", "b"].map { QueueSnapshot.make($0, time: time, totals: ["enqueued": amount]) }
            rates.add(NamespaceSnapshot(queues: queues, receivedAt: .zero))
        }
        let queues = ["a", "b", "new"].map { QueueSnapshot.make($0, time: 4_000, totals: ["enqueued": 20]) }
        rates.add(NamespaceSnapshot(queues: queues, receivedAt: .zero))
        #expect(rates["a"].enqueued == 5)
        #expect(rates["new"].enqueued == nil)
        #expect(rates.sum.enqueued == 10)
    }
}

@Suite("The sparkline", .timeLimit(.minutes(60)))
struct SparklineTests {
    @Test("The ended operations between two snapshots are spread over the seconds between them")
    func spread() {
        var history = ThroughputHistory()
        history.add(10, from: .seconds(1), to: .seconds(2))
        history.add(20, from: .seconds(2), to: .seconds(4))
        history.add(3, from: .seconds(4), to: .seconds(5.5))
        #expect(history.newest(10) == [10, 10, 10, 2])
        #expect(history.newest(2) == [10, 2])
        #expect(history.newest(-1).isEmpty)
    }

    @Test("The history is bounded, and survives a clock that jumps")
    func bounds() {
        var history = ThroughputHistory()
        for second in 0..<2_000 { history.add(1, from: .seconds(second), to: .seconds(second + 1)) }
        #expect(history.newest(5_000).count < 700)
        history.add(1, from: .seconds(5), to: .seconds(6))
        history.add(1, from: .seconds(6), to: .seconds(1_000_000))
        history.add(1, from: .seconds(9), to: .seconds(8))
        #expect(history.newest(5).isEmpty)
    }

    @Test("Zero has a bar, and the greatest value has the tallest one")
    func bars() {
        #expect(Sparkline.text([0, 1, 2, 3, 4], ascii: false) == "⣀⣠⣤⣶⣿")
        #expect(Sparkline.text([0, 5], ascii: true) == "_#")
        #expect(Sparkline.text([0, 0], ascii: true) == "__")
    }
}

@Suite("The truth meter", .timeLimit(.minutes(60)))
struct FreshnessTests {
    @Test(
        "Data is connecting, then live, STALE after three intervals, or DISCONNECTED after a failed read"
    )
    func words() {
        var truth = TruthMeter(interval: .seconds(1))
        #expect(truth.freshness(at: .seconds(9)).text(dataTime: nil) == "connecting")
        truth.answered(at: .seconds(10))
        #expect(truth.freshness(at: .seconds(10.34)).text(dataTime: noon) == "live 0.3s ago")
        #expect(truth.freshness(at: .seconds(13)).text(dataTime: noon) == "live 3.0s ago")
        #expect(truth.freshness(at: .seconds(14)).text(dataTime: noon) == "STALE 4s")
        truth.failed("refused", retryAt: .seconds(17))
        let text = truth.freshness(at: .seconds(15)).text(dataTime: noon)
        #expect(text == "DISCONNECTED, retry in 2s, data from 12:04:31")
        #expect(truth.freshness(at: .seconds(18)).text(dataTime: nil) == "DISCONNECTED, trying again")
        truth.answered(at: .seconds(19))
        #expect(truth.freshness(at: .seconds(19)).isLive)
        #expect(truth.failureMessage == nil)
    }
}

@Suite("A namespace in one snapshot", .timeLimit(.minutes(60)))
struct NamespaceSnapshotTests {
    @Test("A worker of two queues is one worker, lost only if all of its leases have lapsed")
    func workers() {
        let both = [
            QueueSnapshot.make("a", workers: [.make("w1", inFlight: 2, lease: -1), .make("w2", lease: -5)]),
            QueueSnapshot.make("b", workers: [.make("w1", inFlight: 3, beatAge: 200, lease: 500)]),
        ]
        let workers = WorkerSummary.merge(both)
        #expect(workers.map(\.id) == ["w1", "w2"])
        #expect(workers.map(\.isLost) == [false, true])
        #expect(workers[0].queues == ["a", "b"])
        #expect(workers[0].inFlight == 5)
        #expect(workers[0].beatAgeMilliseconds == 200)
        #expect(workers[1].phase == "LOST")
    }

    @Test("After an outage of the server, no worker is lost until the lease floor has passed")
    func leaseFloor() {
        var snapshot = QueueSnapshot.make("a", counts: [.ready: 1], workers: [.make("w1", lease: -5_000)])
        #expect(WorkerSummary.merge([snapshot])[0].isLost)
        #expect(QueueCondition(snapshot) == .unserved)
        snapshot.leaseFloor = noon + 10_000
        #expect(!WorkerSummary.merge([snapshot])[0].isLost)
        #expect(QueueCondition(snapshot) == .running)
    }

    @Test("A worker lost in several queues is one worker with all of its operations, and the newest is first")
    func lost() {
        func make(_ id: String, at: Int64, _ recovered: Int, _ dead: Int, _ cancelled: Int) -> LostWorker {
            var worker = LostWorker(worker: id, lostAt: at, recoveredAt: at + 1, beatAt: at - 15_000)
            (worker.recovered, worker.dead, worker.cancelled) = (recovered, dead, cancelled)
            worker.info = WorkerRow.make(id, name: "name of \(id)").info
            return worker
        }
        let lost = LostSummary.merge([
            ("b", [make("w1", at: 5, 2, 1, 0), make("w2", at: 9, 0, 0, 0)]), ("a", [make("w1", at: 7, 1, 0, 3)]),
        ])
        #expect(lost.map(\.id) == ["w2", "w1"])
        #expect(lost.map(\.label) == ["name of w2", "name of w1"])
        #expect(lost.map(\.fate) == ["held nothing", "3 recovered, 1 dead, 3 cancelled"])
        #expect(lost[1].queues == ["a", "b"])
        #expect([lost[1].lostAt, lost[1].recoveredAt] == [7, 8])
        let table = SnapshotText.table(lost) { "at \($0)" }.lines(for: .plain)
        #expect(table.count == 3 && table[2].contains("at 7") && table[2].contains("name of w1"))
    }

    @Test("The longest run comes first, unknown starts come last, and equal ones are sorted by id")
    func executingOrder() {
        let queues = [
            QueueSnapshot.make("a", executing: [.make(3, name: "x"), .make(2, name: "x", runtime: 5)]),
            QueueSnapshot.make("b", executing: [.make(1, name: "x", runtime: 5), .make(4, name: "x", runtime: 9)]),
        ]
        #expect(ExecutingSummary.merge(queues, workers: []).map(\.id) == [4, 1, 2, 3].map(id))
    }

    @Test("A namespace is idle if no operation waits or runs")
    func idle() {
        func isIdle(_ counts: [OperationState: Int]) -> Bool {
            NamespaceSnapshot(queues: [.make("a", counts: counts)], receivedAt: .zero).isIdle
        }
        #expect(isIdle([.finished: 9, .dead: 1, .ready: 0]))
        for state in OperationState.allCases where !state.isTerminal { #expect(!isIdle([state: 1]), "\(state)") }
    }

    @Test("The stats object has every state and total, even if they are zero")
    func statsJSON() {
        let json = StatsJSON.object(shop(), namespace: "shop")
        #expect(json["v"] == 1)
        #expect(json["time"] == "2026-01-02T12:04:31.000Z")
        #expect(json["counts"]?.objectValue?.keys.count == OperationState.allCases.count)
        #expect(json["counts"]?["ready"] == 1_204)
        #expect(json["counts"]?["blocked"] == 0)
        #expect(json["totals"]?["enqueued"] == 1_305_269)
        #expect(json["totals"]?["recovered"] == 0)
        #expect(json["workers"] == 2)
        #expect(json["slots"] == 24)
        #expect(json["queues"]?.arrayValue?.compactMap { $0["name"]?.stringValue } == ["mail", "reports", "video"])
        #expect(json["queues"]?[1]?["paused"] == true)
        #expect(json["queues"]?[0]?["oldestReadySeconds"] == 14)
    }

    @Test("A line of stat has plain numbers, and a dash for an unknown value")
    func statLine() {
        let line = StatLine(shop(), rates: Rates(enqueued: 212, ended: nil, failed: 0))
        #expect(line.text == "12:04:31 ready 1204 exec 3 fail 7 in/s 212 out/s –")
        let summary = "12:04:31 ready 1,204, executing 3, finished 1,300,000, dead 3, cancelled 12, expired 0"
        #expect(line.summary == summary)
        #expect(line.json(namespace: "shop")["rates"]?["endedPerSecond"] == .null)
    }

    @Test("The plain snapshot shows queues, running operations and workers uncut and without control characters")
    func plainText() {
        var snapshot = shop()
        snapshot.queues[0].executing[0].name = "evil\u{1B}[2J\u{202E}name"
        let lines = SnapshotText.lines(snapshot, title: "namespace shop", target: .plain, style: Style(usesColor: true))
        let text = lines.joined(separator: "\n")
        #expect(lines[0] == "namespace shop  2026-01-02T12:04:31.000Z")
        let counts = "ready 1,204  scheduled 88  blocked 0  executing 3  retrying 7  finished 1,300,000  dead 3"
        #expect(lines[1].hasPrefix(counts))
        #expect(text.contains(#"evil\x1b[2J\u202ename"#))
        #expect(text.contains("██████░░░░  68% pass 2 of 3"))
        #expect(text.contains("cancelling 3s"))
        #expect(text.contains("PAUSED"))
        #expect(text.contains("LOST"))
        #expect(!text.unicodeScalars.contains("\u{1B}"))
    }
}
