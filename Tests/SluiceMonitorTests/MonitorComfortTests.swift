import BrokerModel
import Operations
import Synchronization
import TerminalText
import Testing

@testable import SluiceMonitor
@testable import SluiceOperator

@Suite("The monitor's convenience keys", .timeLimit(.minutes(60)))
struct MonitorComfortTests {
    @Test("/ selects the next row that contains the text, n and N continue, and a missing text is reported")
    func search() {
        var model = shopModel()
        _ = model.type("/mail")
        _ = model.handle(.enter)
        #expect(model.selectedItem == .operation(OperationAddress(queue: "mail", id: id(7))))
        _ = model.type("n")
        #expect(model.selectedItem == .queue("mail"))
        _ = model.type("N")
        #expect(model.selectedItem == .operation(OperationAddress(queue: "mail", id: id(7))))
        _ = model.type("/none")
        _ = model.handle(.enter)
        #expect(model.notice?.text == "not found: none")
        _ = model.type("4/h3")
        _ = model.handle(.enter)
        #expect(model.selectedItem == .worker("w2"))
    }

    @Test("In the log, / goes to the next line that contains the text")
    func searchLog() {
        var pane = DetailPane(OperationAddress(queue: "q", id: id(1)))
        let lines = (0..<30).map { LogLine(Array("line \($0).".utf8)) }
        pane.update(DetailReading(address: pane.address, detail: nil, time: noon, lines: lines))
        let found = [("line 7.", true), ("line 2", true), ("line 2", false), ("none", true)].map { text, forward in
            let isFound = pane.findLine(text, forward: forward)
            return isFound ? pane.scroll : -1
        }
        #expect(found == [7, 20, 2, -1])
        #expect(pane.tab == .logs && !pane.isFollowing)
    }

    @Test("+ and - change the interval between reads, from 250 ms to 60 s")
    func interval() {
        var model = shopModel()
        #expect(model.type("+") == [.interval(.milliseconds(500))])
        #expect(model.type("++") == [.interval(.milliseconds(250)), .interval(.milliseconds(250))])
        for _ in 0..<20 { _ = model.type("-") }
        #expect(model.interval == .seconds(60))
    }

    @Test("Intervals and ages below a second are shown with fractions")
    func intervals() {
        for (interval, text) in [
            (Duration.milliseconds(500), "0.5s"), (.milliseconds(250), "0.25s"), (.seconds(5), "5s"),
        ] {
            var model = shopModel()
            model.truth.interval = interval
            #expect(model.grid(100, 24).text(row: 0).contains("· every \(text) ·"))
        }
        var model = shopModel()
        _ = model.type("+")
        #expect(model.notice?.text == "reads every 0.5s")
        #expect(Freshness.stale(age: .milliseconds(760)).text(dataTime: nil) == "STALE 0.76s")
        #expect([1, 9, 10, 999].map { DurationText.fine(.milliseconds($0)) } == ["0.0s", "0.0s", "0.01s", "0.99s"])
    }

    @Test("F keeps the selection on its line when rows change places")
    func follow() {
        var model = shopModel()
        _ = model.type("3g")
        var next = shop(receivedAt: .seconds(11))
        next.queues.append(.make("a"))
        next = NamespaceSnapshot(queues: next.queues, receivedAt: .seconds(11))
        var unbound = model
        _ = unbound.type("Fg")
        model.ingest(next)
        unbound.ingest(next)
        #expect(model.selectedItem == .queue("mail"))
        #expect(unbound.selectedItem == .queue("a"))
    }

    @Test("w shows whole ids")
    func wide() {
        var model = shopModel()
        #expect(!model.grid(120, 24).text.contains("01KDZ9GN4R0000000000000008"))
        _ = model.type("w")
        #expect(model.grid(120, 24).text.contains("01KDZ9GN4R0000000000000008"))
    }

    @Test("E saves the shown data: operations in the format of list, other screens in the format of stats")
    func export() throws {
        var model = shopModel()
        guard case .export(let stats, let file) = try #require(model.type("E").first) else {
            return #expect(Bool(false))
        }
        #expect(file == "sluice-overview-20260102T120431.json")
        #expect(stats["namespace"] == "shop")
        #expect(stats["counts"]?["ready"] == 1204)
        _ = model.type("2")
        model.ingest(OperationsReading(OperationsRequest(state: .executing), []))
        guard case .export(let list, _) = try #require(model.type("E").first) else { return #expect(Bool(false)) }
        #expect(list["operations"] == [])
    }

    private func statistics() -> StatisticsBoard {
        var recent = Statistics()
        (recent.finished, recent.failed) = (98, 2)
        for _ in 0..<95 { recent.wait.add(microseconds: 800_000) }
        for _ in 0..<5 { recent.wait.add(microseconds: 60_000_000) }
        for _ in 0..<100 { recent.run.add(microseconds: 200_000) }
        var old = Statistics()
        old.finished = 1_000
        let rows = [
            StatisticsReply.Row(start: noon - 1_800_000 - noon % 60_000, name: nil, statistics: old),
            StatisticsReply.Row(start: noon - noon % 60_000, name: nil, statistics: recent),
        ]
        return StatisticsBoard(["mail": StatisticsReply(time: noon, rows: rows)])
    }

    @Test("The overview shows recent percentiles and the last hour, the queues screen those of each queue")
    func percentiles() {
        var snapshot = shop()
        snapshot.queues[2].workers.removeLast()
        var model = MonitorModel(namespace: "shop", place: "")
        model.ingest(snapshot)
        model.ingest(statistics())
        let text = model.grid(80, 24).text
        #expect(text.contains("  wait p50 0.8s p95 1.0s  run p50 0.2s p95 0.2s"), "\(text)")
        #expect(text.contains("1h ⣀") && text.contains(" 1,100"))
        _ = model.type("3")
        let header = model.grid(80, 24).text(row: 5)
        #expect(header.contains("OUT 10m") && header.contains("WAITp95") && header.contains("RUNp95"))
        #expect(model.grid(120, 24).text(row: 6).contains("⣀⣀⣀⣀⣀⣀⣀⣀⣀⣿"))
    }

    @Test("Statistics are read only while the overview or the queues screen is shown")
    func reading() async throws {
        let broker = InMemoryBroker()
        _ = try await broker.enqueue([NewOperation(envelope: OperationEnvelope(name: "a").encoded())], queue: "a")
        let fetcher = MonitorFetcher(broker, origin: .now, interval: .seconds(60))
        let count = Mutex(0)
        let deliver: @Sendable (MonitorFetcher.Outcome) -> Void = { outcome in
            if case .statistics = outcome { count.withLock { $0 += 1 } }
        }
        await fetcher.runOnce(deliver)
        #expect(count.withLock { $0 } == 0)
        fetcher.look(at: .init(interval: .seconds(60), showsStatistics: true))
        await fetcher.runOnce(deliver)
        #expect(count.withLock { $0 } == 1)
    }
}
