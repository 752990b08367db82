import BrokerModel
import Operations
import Synchronization
import Testing

@testable import SluiceMonitor

@Suite("The operations' screen", .timeLimit(.minutes(5)))
struct OperationsScreenTests {
    private func detail(_ number: Int, _ name: String, _ state: OperationState) -> OperationDetail {
        let record = OperationRecord(
            header: OperationHeader(id: id(number)),
            state: state,
            enqueuedAt: noon - 60_000,
            envelope: OperationEnvelope(name: name).encoded()
        )
        return OperationDetail(queue: "mail", record: record, state: state)
    }

    private func model(_ state: OperationState, _ operations: [OperationDetail]) -> MonitorModel {
        var model = shopModel()
        _ = model.type("2")
        while model.operations.state != state { _ = model.handle(.tab) }
        model.ingest(OperationsReading(state: state, operations: operations))
        return model
    }

    @Test("2 shows it, Tab shows the next state and reads it, rows of the previous state are dropped")
    func states() {
        var model = shopModel()
        _ = model.type("2")
        #expect(model.operations.state == .executing)
        #expect(model.grid(80, 24).text.contains("reading …"))
        #expect(model.handle(.tab) == [.refresh])
        #expect(model.operations.state == .retrying)
        model.ingest(OperationsReading(state: .executing, operations: [detail(1, "late", .executing)]))
        #expect(model.selectedItem == nil)
        #expect(model.handle(.backTab) == [.refresh])
        #expect(model.operations.state == .executing)
    }

    @Test("Rows are drawn with what they are about, and text from outside is escaped")
    func rows() {
        var dead = detail(2, "SendEmail", .dead)
        let failure = OperationFailure(type: "SMTP", message: "550\u{1B}[2J mailbox", attempt: 5, delivery: 1)
        dead.errors = [FailedAttempt(at: noon, error: failure.encoded())]
        let text = model(.dead, [dead]).grid(80, 24).text
        #expect(text.contains("[2 Operations]"))
        #expect(text.contains("✗ dead  1 shown of 3, newest first"))
        #expect(text.contains(#"SMTP: 550\x1b[2J"#))
        #expect(!text.contains("\u{1B}"))
    }

    @Test("It is drawn at every size, in ASCII too, with the selected row visible from 30 by 4 on")
    func sizes() {
        var model = model(.ready, (0..<50).map { detail($0, "job\($0)", .ready) })
        _ = model.type("G")
        for (width, height) in [(1, 1), (20, 3), (30, 4), (59, 14), (60, 15), (80, 24), (120, 35)] {
            for ascii in [false, true] {
                let text = model.grid(width, height, ascii: ascii).text
                #expect(text.contains("job49") == (width >= 30), "\(width) by \(height)")
                #expect(!ascii || text.allSatisfy(\.isASCII))
            }
        }
    }

    @Test("Enter opens a row; c cancels one that has not ended, and says so of one that has")
    func actions() {
        var waiting = model(.ready, [detail(3, "wait", .ready)])
        let address = OperationAddress(queue: "mail", id: id(3))
        #expect(waiting.type("cy") == [.cancel(address, reason: "")])
        #expect(waiting.handle(.enter) == [.refresh])
        #expect(waiting.detail?.address == address)
        var ended = model(.finished, [detail(3, "done", .finished)])
        #expect(ended.type("cy") == [])
        #expect(ended.dialog == nil)
    }

    @Test("A frozen screen keeps its rows, and shows those of a state that was not read before")
    func frozen() {
        var model = model(.ready, [detail(1, "first", .ready)])
        _ = model.type("p")
        model.ingest(OperationsReading(state: .ready, operations: []))
        #expect(model.operations.rows?.count == 1)
        _ = model.handle(.tab)
        model.ingest(OperationsReading(state: .scheduled, operations: [detail(2, "later", .scheduled)]))
        #expect(model.operations.rows?.count == 1)
        #expect(model.selectedItem == .operation(OperationAddress(queue: "mail", id: id(2))))
    }

    @Test("The rows of all queues are read while the screen is shown, and not otherwise")
    func reading() async throws {
        let broker = InMemoryBroker()
        for queue in ["a", "b"] {
            let new = NewOperation(envelope: OperationEnvelope(name: "in.\(queue)").encoded())
            _ = try await broker.enqueue([new], queue: queue)
        }
        let fetcher = MonitorFetcher(broker, origin: .now, interval: .seconds(60))
        let readings = Mutex<[OperationsReading]>([])
        let deliver: @Sendable (MonitorFetcher.Outcome) -> Void = { outcome in
            if case .listed(let reading) = outcome { readings.withLock { $0.append(reading) } }
        }
        await fetcher.runOnce(deliver)
        #expect(readings.withLock { $0.isEmpty })
        fetcher.look(at: .init(interval: .seconds(60), listedState: .ready))
        await fetcher.runOnce(deliver)
        let names = readings.withLock { $0 }.map { Set($0.operations.map(\.displayName)) }
        #expect(names == [["in.a", "in.b"]])
    }
}
