import BrokerModel
import Operations
import Synchronization
import Testing

@testable import SluiceMonitor

@Suite("The events screen", .timeLimit(.minutes(60)))
struct EventsScreenTests {
    private func batch(_ from: Int64, _ states: [OperationState], of queue: String = "mail") -> EventBatch {
        EventBatch(
            queue: queue,
            from: from,
            to: from + Int64(max(1, states.count)) - 1,
            counts: Dictionary(states.map { ($0, 1) }, uniquingKeysWith: +),
            transitions: states.enumerated().map { (id(Int(from) + $0.offset), $0.element) }
        )
    }

    @Test("Stored events come first, then live ones once, and lost messages are counted")
    func log() {
        var log = EventLog()
        log.add(batch(2, [.executing]), at: .seconds(1))
        log.add(batch(3, [.finished]), at: .seconds(2))
        let entry = StoredEvents.Entry(cursor: "1", at: noon - 9_000, batch: batch(1, [.dead]))
        log.replay(StoredEvents(time: noon, newest: 2, entries: [entry], cursor: "1"), of: "mail")
        log.endReplay()
        log.add(batch(6, [.ready, .ready]), at: .seconds(3))
        let reading = log.take(time: noon, now: .seconds(4))
        #expect(reading.isReplay && reading.count == 3)
        let contents: [EventLine.Content] = [
            .transition(id(1), .dead), .transition(id(3), .finished), .missed(2), .transition(id(6), .ready),
            .transition(id(7), .ready),
        ]
        #expect(reading.lines.map(\.content) == contents)
        #expect(reading.lines.map(\.at) == [noon - 9_000, noon - 2_000, noon - 1_000, noon - 1_000, noon - 1_000])
        #expect(log.take(time: noon, now: .seconds(5)).lines.isEmpty)
    }

    @Test("The newest lines are followed, a scrolled or frozen screen stays, and a filter leaves lines out")
    func screen() {
        var model = shopModel()
        _ = model.type("5")
        #expect(model.grid(80, 24).text.contains("no events"))
        func add(_ numbers: Range<Int>, at second: Int) {
            let lines = numbers.map { EventLine(at: noon, queue: "q\($0).", content: .more(1)) }
            model.ingest(EventsReading(lines: lines, count: lines.count), at: .seconds(second))
        }
        add(0..<50, at: 1)
        #expect(model.grid(80, 24).text.contains("q49."))
        _ = model.type("k")
        add(50..<52, at: 2)
        #expect(!model.grid(80, 24).text.contains("q49.") && model.grid(80, 24).text.contains("q48."))
        #expect(model.grid(80, 24).text.contains("scrolled back · 2/s"))
        _ = model.type("G")
        #expect(model.grid(80, 24).text.contains("q51."))
        _ = model.type("/q3.")
        _ = model.handle(.enter)
        #expect(model.grid(80, 24).text.contains("q3.") && !model.grid(80, 24).text.contains("q51."))
        _ = model.type("p")
        add(60..<61, at: 3)
        #expect(model.events.lines.count == 52)
        let change = QueueChange(.pause, by: "ann\u{1B}[2J", detail: "deploy")
        model.setFrozen(false)
        model.ingest(
            EventsReading(lines: [EventLine(at: noon, queue: "q3.", content: .change(change))], count: 1),
            at: .seconds(4)
        )
        #expect(model.grid(80, 24).text.contains(#"ann\x1b[2J"#))
    }

    @Test("c switches between changes by people and all events, and a filter still applies")
    func changes() {
        var model = shopModel()
        _ = model.type("5")
        func line(_ content: EventLine.Content) -> EventLine { EventLine(at: noon, queue: "mail", content: content) }
        let lines = [
            line(.transition(id(1), .dead)), line(.change(QueueChange(.pause, by: "ann", detail: "deploy"))),
            line(.more(7)), line(.missed(3)), line(.change(QueueChange(.resume, by: "bob", detail: ""))),
        ]
        model.ingest(EventsReading(lines: lines, count: 5), at: .seconds(1))
        #expect(model.grid(100, 24).text.contains("c changes only"))
        #expect(model.type("c") == [])
        #expect(model.events.shown.map(\.content) == [lines[1].content, lines[4].content])
        let text = model.grid(100, 24).text
        #expect(text.contains("following · –/s · changes only") && text.contains("c all events"))
        #expect(text.contains("ann") && !text.contains("missed"))
        _ = model.type("/carol")
        _ = model.handle(.enter)
        #expect(model.grid(100, 24).text.contains("no changes with this text"))
        _ = model.type("c")
        _ = model.type("/")
        _ = model.handle(.control("u"))
        _ = model.handle(.enter)
        #expect(model.events.shown.count == 5)
    }

    @Test("Events are read while their screen is shown, beginning with stored ones")
    func reading() async throws {
        let broker = InMemoryBroker()
        let new = NewOperation(envelope: OperationEnvelope(name: "job").encoded())
        _ = try await broker.enqueue([new], queue: "a")
        _ = try await broker.cancel([new.id], request: CancelRequest(reason: "r", by: "ann"), queue: "a")
        let fetcher = MonitorFetcher(broker, origin: .now, interval: .seconds(60))
        let readings = Mutex<[EventsReading]>([])
        let deliver: @Sendable (MonitorFetcher.Outcome) -> Void = { outcome in
            if case .events(let reading, _) = outcome { readings.withLock { $0.append(reading) } }
        }
        await fetcher.runOnce(deliver)
        #expect(readings.withLock { $0.isEmpty })
        fetcher.look(at: .init(interval: .seconds(60), showsEvents: true))
        await fetcher.runOnce(deliver)
        let contents = readings.withLock { $0 }.flatMap(\.lines).map(\.content)
        #expect(contents.contains(.transition(new.id, .cancelled)))
    }

    @Test("The replay ends with the newest event, even if many events are stored")
    func longReplay() async throws {
        let broker = InMemoryBroker()
        var last: OperationID?
        for _ in 0..<700 {
            let new = NewOperation(envelope: OperationEnvelope(name: "job").encoded())
            _ = try await broker.enqueue([new], queue: "a")
            _ = try await broker.cancel([new.id], request: CancelRequest(reason: "r", by: "ann"), queue: "a")
            last = new.id
        }
        let fetcher = MonitorFetcher(broker, origin: .now, interval: .seconds(60))
        let lines = Mutex<[EventLine]>([])
        fetcher.look(at: .init(interval: .seconds(60), showsEvents: true))
        await fetcher.runOnce { outcome in
            if case .events(let reading, _) = outcome { lines.withLock { $0 += reading.lines } }
        }
        let newest = try #require(last)
        #expect(lines.withLock { $0.last?.content } == .transition(newest, .cancelled))
    }
}
