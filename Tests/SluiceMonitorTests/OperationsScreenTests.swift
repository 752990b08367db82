import BrokerModel
import Operations
import Selectors
import Synchronization
import Testing

@testable import SluiceMonitor
@testable import SluiceOperator

@Suite("The operations screen", .timeLimit(.minutes(60)))
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
        model.ingest(OperationsReading(OperationsRequest(state: state), operations))
        return model
    }

    @Test("2 shows the screen, Tab reads the next state, and rows of the previous state are dropped")
    func states() {
        var model = shopModel()
        _ = model.type("2")
        #expect(model.operations.state == .executing)
        #expect(model.grid(80, 24).text.contains("reading …"))
        #expect(model.handle(.tab) == [.refresh])
        #expect(model.operations.state == .retrying)
        model.ingest(OperationsReading(OperationsRequest(state: .executing), [detail(1, "late", .executing)]))
        #expect(model.selectedItem == nil)
        #expect(model.handle(.backTab) == [.refresh])
        #expect(model.operations.state == .executing)
    }

    @Test("Rows show errors, and text from outside is escaped")
    func rows() {
        var dead = detail(2, "SendEmail", .dead)
        let failure = OperationFailure(type: "SMTP", message: "550\u{1B}[2J mailbox", attempt: 5, delivery: 1)
        dead.errors = [FailedAttempt(at: noon, error: failure.encoded())]
        let text = model(.dead, [dead]).grid(80, 24).text
        #expect(text.contains("[2 Operations]"))
        #expect(text.contains("✗ dead  1 of 1  time ↓"))
        #expect(text.contains(#"SMTP: 550\x1b[2J"#))
        #expect(!text.contains("\u{1B}"))
    }

    @Test("The screen is drawn at every size, also in ASCII, with the selected row visible from 30 by 4 on")
    func sizes() {
        var model = model(.ready, (0..<50).map { detail($0, "job\(49 - $0)", .ready) })
        _ = model.type("G")
        for (width, height) in [(1, 1), (20, 3), (30, 4), (59, 14), (60, 15), (80, 24), (120, 35)] {
            for ascii in [false, true] {
                let text = model.grid(width, height, ascii: ascii).text
                #expect(text.contains("job49") == (width >= 30), "\(width) by \(height)")
                #expect(!ascii || text.allSatisfy(\.isASCII))
            }
        }
    }

    @Test("Enter opens a row, and c cancels an operation that has not ended")
    func actions() {
        var waiting = model(.ready, [detail(3, "wait", .ready)])
        let address = OperationAddress(queue: "mail", id: id(3))
        #expect(waiting.type("cy") == [.cancel(address, reason: "")])
        #expect(waiting.handle(.enter) == [.refresh])
        #expect(waiting.detail?.address == address)
        var ended = model(.finished, [detail(3, "done", .finished)])
        #expect(ended.type("c") == [])
        #expect(ended.dialog == nil)
    }

    @Test("A frozen screen keeps its rows, but shows the rows of a state that was not read before")
    func frozen() {
        var model = model(.ready, [detail(1, "first", .ready)])
        _ = model.type("p")
        model.ingest(OperationsReading(OperationsRequest(state: .ready), []))
        #expect(model.operations.rows?.count == 1)
        _ = model.handle(.tab)
        model.ingest(OperationsReading(OperationsRequest(state: .scheduled), [detail(2, "later", .scheduled)]))
        #expect(model.operations.rows?.count == 1)
        #expect(model.selectedItem == .operation(OperationAddress(queue: "mail", id: id(2))))
    }

    @Test("A filter is parsed like a query of the command line, reports errors, and searches all states")
    func filter() {
        var model = model(.ready, [detail(1, "first", .ready)])
        #expect(model.type("/nme:x") == [])
        #expect(model.handle(.enter) == [])
        #expect(model.grid(120, 24).text(row: 23).contains(#"unknown field "nme"; did you mean "name"?"#))
        for _ in 0..<5 { _ = model.handle(.backspace) }
        #expect(model.type("name:Send*") == [])
        #expect(model.handle(.enter) == [.refresh])
        #expect(model.operations.request.query.states.count == OperationState.allCases.count)
        var reading = OperationsReading(
            model.operations.request,
            [detail(2, "SendEmail", .dead)],
            scanned: 200,
            total: 1_204
        )
        reading.hasMore = true
        model.ingest(reading)
        let text = model.grid(100, 24).text
        #expect(text.contains("all states  /name:Send*  1 match · scanned 200 of 1,204 · PgDn more"))
        #expect(text.contains("✗ dead"))
        _ = model.type("/")
        _ = model.handle(.control("u"))
        #expect(model.handle(.enter) == [.refresh])
        #expect(model.operations.request == OperationsRequest(state: .executing))
    }

    @Test("Page down on the last row reads one more page and keeps the selection")
    func pages() {
        var model = model(.ready, [])
        let rows = (0..<3).map { detail($0, "job\($0)", .ready) }
        model.ingest(OperationsReading(model.operations.request, rows, total: 5, hasMore: true))
        #expect(model.handle(.pageDown) == [])
        let last = model.selectedItem
        #expect(model.handle(.pageDown) == [.refresh])
        #expect(model.operations.request.pages == 2)
        let more = rows + (3..<5).map { detail($0, "job\($0)", .ready) }
        model.ingest(OperationsReading(model.operations.request, more))
        #expect(model.selectedItem == last)
        #expect(model.handle(.pageDown) == [])
    }

    @Test("Page down also reads another page if nothing was found so far")
    func emptyPages() throws {
        var model = model(.ready, [])
        _ = model.type("/name:rare")
        _ = model.handle(.enter)
        model.ingest(OperationsReading(model.operations.request, [], scanned: 2_000, total: 9_000, hasMore: true))
        #expect(model.grid(100, 24).text.contains("0 match · scanned 2,000 of 9,000 · PgDn more"))
        for pages in 2...OperationsPane.mostPages {
            #expect(model.handle(.pageDown) == [.refresh])
            #expect(model.operations.request.pages == pages)
        }
        #expect(model.handle(.pageDown) == [])
        model.ingest(OperationsReading(model.operations.request, [], scanned: 9_000, total: 9_000))
        #expect(model.handle(.pageDown) == [])
    }

    @Test("A wide screen has an arguments column, with secrets hidden and text escaped")
    func arguments() {
        var row = detail(1, "SendEmail", .ready)
        let arguments = #"{"to":"ann\u001b[2J","password":"hunter2"}"#
        row.record.envelope = OperationEnvelope(name: "SendEmail", arguments: Array(arguments.utf8)).encoded()
        let model = model(.ready, [row, detail(2, "other", .ready)])
        let wide = model.grid(200, 50).text
        #expect(wide.contains("ARGUMENTS") && wide.contains(#"to='ann\x1b[2J' password=***"#), "\(wide)")
        #expect(!wide.contains("hunter2"))
        #expect(!model.grid(80, 24).text.contains("ARGUMENTS"))
    }

    @Test("s sorts by the next column, S reverses the order, and equal rows are sorted by id")
    func sort() {
        var model = model(.ready, [detail(1, "b", .ready), detail(2, "a", .ready), detail(3, "a", .ready)])
        func order() -> [OperationID] { (model.operations.rows ?? []).map(\.record.header.id) }
        #expect(order() == [id(3), id(2), id(1)])
        _ = model.type("s")
        #expect(order() == [id(2), id(3), id(1)])
        _ = model.type("S")
        #expect(order() == [id(1), id(3), id(2)])
        #expect(model.grid(80, 24).text.contains("name ↓"))
    }

    @Test("A row that left the list stays greyed until the next read")
    func leaving() {
        var model = model(.ready, [detail(1, "stays", .ready), detail(2, "leaves", .ready)])
        let next = OperationsReading(model.operations.request, [detail(1, "stays", .ready)])
        model.ingest(next)
        #expect(model.grid(80, 24).text.contains("leaves"))
        #expect(model.grid(80, 24).text.contains("1 of 1"))
        model.ingest(next)
        #expect(!model.grid(80, 24).text.contains("leaves"))
    }

    @Test("Marked operations are counted, confirmed and changed together, and refusals are listed")
    func marks() throws {
        var model = model(.ready, [detail(1, "a", .ready), detail(2, "b", .ready), detail(3, "c", .ready)])
        _ = model.type("g  ")
        #expect(model.grid(80, 24).text.contains("2 ✱"))
        let change = BulkChange(
            .cancel,
            .marked([3, 2].map { OperationAddress(queue: "mail", id: id($0)) }.sorted { $0.id < $1.id })
        )
        #expect(model.type("c") == [.plan(change)])
        #expect(model.type("y") == [])
        model.ingest(BulkPlan(change: change, states: [.ready: 1, .finished: 1]))
        let text = model.grid(80, 24).text
        #expect(text.contains("Cancel 1 operation?"))
        #expect(text.contains("left as they are: 1 finished"))
        _ = model.handle(.tab)
        _ = model.type("by hand")
        _ = model.handle(.enter)
        #expect(model.type("y") == [.change(change, reason: "by hand", expected: 1)])
        var progress = BulkProgress(change, expected: 1)
        progress.add([
            OperationOutcome(OperationAddress(queue: "mail", id: id(2)), "is finished", "refused", .refused),
            OperationOutcome(OperationAddress(queue: "mail", id: id(3)), "cancelled", "cancelled"),
        ])
        model.ingest(progress)
        #expect(model.type("j") == [])
        #expect(model.handle(.escape) == [.stopWork])
        progress.end = .complete
        model.ingest(progress)
        #expect(model.grid(80, 24).text.contains("\(id(2)) is finished"))
        _ = model.type("x")
        #expect(model.notice == nil)
        #expect(model.work == nil)
        #expect(model.operations.target == nil)
    }

    @Test("A change of all matching operations uses the query, and more than 100 must be confirmed by number")
    func number() {
        var model = model(.dead, [detail(1, "a", .dead)])
        _ = model.type("*")
        let change = BulkChange(.retry, .matching(model.operations.request.query))
        #expect(model.type("R") == [.plan(change)])
        model.ingest(BulkPlan(change: change, states: [.dead: 1_204]))
        #expect(model.grid(80, 24).text.contains("Retry 1,204 operations?"))
        #expect(model.type("y") == [])
        #expect(model.type("120") == [])
        #expect(model.type("4") == [])
        #expect(model.handle(.enter) == [.change(change, reason: "", expected: 1_204)])
    }

    @Test("Tab in the question about a retry chooses the time over which the operations start")
    func spread() {
        var model = model(.dead, [detail(1, "a", .dead)])
        _ = model.type("*")
        let change = BulkChange(.retry, .matching(model.operations.request.query))
        _ = model.type("R")
        #expect(model.handle(.tab) == [])
        model.ingest(BulkPlan(change: change, states: [.dead: 40]))
        #expect(model.grid(80, 24).text.contains("start: all now"))
        for shown in ["1m", "10m", "1h"] {
            _ = model.handle(.tab)
            #expect(model.grid(80, 24).text.contains("start: evenly over \(shown)"))
        }
        var spread = change
        spread.spread = .seconds(3600)
        #expect(model.type("y") == [.change(spread, reason: "", expected: 40)])
    }

    @Test("Enter after a wrong number declines, and an impossible change does not ask")
    func declined() {
        var model = model(.dead, [detail(1, "a", .dead)])
        _ = model.type("*")
        let change = BulkChange(.retry, .matching(model.operations.request.query))
        _ = model.type("R")
        model.ingest(BulkPlan(change: change, states: [.dead: 1_204]))
        _ = model.type("120")
        #expect(model.handle(.enter) == [.stopWork])
        #expect(model.notice?.text == "nothing was changed")
        _ = model.type("uc")
        #expect(model.dialog == nil)
        _ = model.type("d")
        model.ingest(
            BulkPlan(
                change: BulkChange(.remove, .marked([OperationAddress(queue: "mail", id: id(1))])),
                states: [.executing: 1]
            )
        )
        #expect(model.notice?.text == "nothing can be removed: 1 executing")
    }

    @Test("Read-only mode has no marks and no bulk changes")
    func readOnly() {
        var model = shopModel(isReadOnly: true)
        _ = model.type("2")
        model.ingest(OperationsReading(OperationsRequest(state: .executing), [detail(1, "a", .executing)]))
        #expect(model.type(" *cRd") == [])
        #expect(model.dialog == nil && model.operations.target == nil)
    }

    @Test("A bulk change counts, then changes the possible operations, for marks and for a query")
    func bulk() async throws {
        let broker = InMemoryBroker()
        let news = (0..<250).map { NewOperation(envelope: OperationEnvelope(name: "job\($0 % 2)").encoded()) }
        _ = try await broker.enqueue(news, queue: "mail")
        _ = try await broker.cancel([news[0].id], request: CancelRequest(reason: "", by: "t"), queue: "mail")
        let all = news.map { OperationAddress(queue: "mail", id: $0.id) }
        let marked = BulkRun(broker: broker, change: BulkChange(.remove, .marked(all)), view: PayloadView())
        #expect(try await marked.plan().states == [.ready: 249, .cancelled: 1])
        let query = try OperationQuery(parsing: "name:job1")
        let matching = BulkRun(broker: broker, change: BulkChange(.cancel, .matching(query)), view: PayloadView())
        #expect(try await matching.plan().possible == 125)
        var last: BulkProgress?
        await matching.run(reason: "r", by: "t", expected: 125) { last = $0 }
        #expect(last?.done == 125)
        #expect(last?.end == .complete)
        let retry = BulkRun(broker: broker, change: BulkChange(.retry, .marked(all)), view: PayloadView())
        var steps = 0
        await retry.run(reason: "", by: "t", expected: 126) {
            last = $0; steps += 1
        }
        #expect(last?.done == 126)
        #expect(last?.refused == 124)
        #expect(last?.refusals.count == BulkProgress.keptRefusals)
        #expect(last?.refusals.first?.reason == "is ready")
        #expect(steps == 4)
    }

    @Test("A stopped bulk change reports the changes so far")
    func stopped() async throws {
        let broker = InMemoryBroker()
        let news = (0..<250).map { _ in NewOperation(envelope: OperationEnvelope(name: "job").encoded()) }
        _ = try await broker.enqueue(news, queue: "mail")
        let change = BulkChange(.cancel, .marked(news.map { OperationAddress(queue: "mail", id: $0.id) }))
        let run = BulkRun(broker: broker, change: change, view: PayloadView())
        let last = Mutex<BulkProgress?>(nil)
        let task = Task {
            await run.run(reason: "", by: "t", expected: 250) { progress in
                last.withLock { $0 = progress }
                withUnsafeCurrentTask { $0?.cancel() }
            }
        }
        await task.value
        #expect(last.withLock { $0?.done } == 100)
        #expect(last.withLock { $0?.end } == .stopped)
    }

    @Test("A scan reads pages until the filter has found enough, and reports how many operations it examined")
    func scan() async throws {
        let broker = InMemoryBroker()
        let news = (0..<450).map { NewOperation(envelope: OperationEnvelope(name: $0 == 0 ? "rare" : "job").encoded()) }
        _ = try await broker.enqueue(news, queue: "mail")
        let snapshot = try await broker.namespaceSnapshot(executingRows: 0) { .zero }
        let scan = OperationsScan(broker: broker, snapshot: snapshot, view: PayloadView())
        var request = OperationsRequest(state: nil, filter: try OperationQuery(parsing: "name:job"))
        var reading = try await scan.run(request)
        #expect(reading.operations.count == 200 && reading.scanned == 201 && reading.total == 450 && reading.hasMore)
        request.pages = 3
        reading = try await scan.run(request)
        #expect(reading.scanned == 450 && reading.operations.count == 449 && !reading.hasMore)
        request = OperationsRequest(state: nil, filter: try OperationQuery(parsing: "name:rare"))
        reading = try await scan.run(request)
        #expect(reading.scanned == 450 && reading.operations.count == 1, "one page looks further for what is rare")
        request.filter = try OperationQuery(parsing: "queue:mial")
        #expect(try await scan.run(request).unknown.first?.contains("did you mean") == true)
    }

    @Test("An id is looked up without a search, in the list and for a change, also for untracked operations")
    func ids() async throws {
        let broker = InMemoryBroker()
        var news = (0..<3_000).map { _ in NewOperation(envelope: OperationEnvelope(name: "job").encoded()) }
        news[0] = NewOperation(id: OperationID(key: "import-2026"), envelope: OperationEnvelope(name: "own").encoded())
        for start in stride(from: 0, to: news.count, by: SluiceDefaults.batch) {
            _ = try await broker.enqueue(Array(news[start..<(start + SluiceDefaults.batch)]), queue: "mail")
        }
        let snapshot = try await broker.namespaceSnapshot(executingRows: 0) { .zero }
        let scan = OperationsScan(broker: broker, snapshot: snapshot, view: PayloadView())
        func reading(_ text: String, pages: Int = 1) async throws -> OperationsReading {
            try await scan.run(OperationsRequest(state: nil, filter: try OperationQuery(parsing: text), pages: pages))
        }
        for (text, id) in [
            ("id:\(news[1].id)", news[1].id), ("id:mail/\(news[1].id)", news[1].id), ("id:import-2026", news[0].id),
        ] {
            let found = try await reading(text)
            #expect(found.operations.map(\.id) == [id] && found.scanned == 1 && !found.hasMore, "\(text)")
            let change = BulkChange(.cancel, .matching(try OperationQuery(parsing: text)))
            #expect(try await BulkRun(broker: broker, change: change, view: PayloadView()).plan().possible == 1)
        }
        #expect(try await reading("id:\(news[1].id) state:dead").operations.isEmpty)
        #expect(try await reading("id:\(news[1].id) queue:none").operations.isEmpty)
        let untracked = NewOperation(tracked: false, envelope: OperationEnvelope(name: "once").encoded())
        _ = try await broker.enqueue([untracked], queue: "mail")
        #expect(try await reading("id:\(untracked.id)", pages: 9).operations.map(\.id) == [untracked.id])
    }

    @Test("Many operations given by id are read page by page, without a search")
    func manyMembers() async throws {
        let broker = InMemoryBroker()
        var request = OperationsRequest(state: nil, filter: OperationQuery())
        let news = (0..<4_500).map { _ in NewOperation(envelope: OperationEnvelope(name: "job").encoded()) }
        for start in stride(from: 0, to: news.count, by: SluiceDefaults.batch) {
            _ = try await broker.enqueue(Array(news[start..<(start + SluiceDefaults.batch)]), queue: "mail")
        }
        let snapshot = try await broker.namespaceSnapshot(executingRows: 0) { .zero }
        let scan = OperationsScan(broker: broker, snapshot: snapshot, view: PayloadView())
        let typed = news.map { "\($0.id)" }.joined(separator: ",")
        request.filter = try OperationQuery(parsing: "id:\(typed)")
        let first = try await scan.run(request)
        #expect(first.operations.count == 2_000 && first.scanned == 2_000 && first.total == 4_500 && first.hasMore)
        request.pages = 3
        let all = try await scan.run(request)
        #expect(all.operations.count == 4_500 && !all.hasMore)
    }

    @Test("A filter with a group reads its members, and an unknown group is reported and changes nothing")
    func members() async throws {
        let broker = InMemoryBroker()
        let group = try await broker.openGroups(["nightly"], queue: "mail")[0]
        let news = (0..<3).map { NewOperation(envelope: OperationEnvelope(name: $0 == 0 ? "other" : "job").encoded()) }
        _ = try await broker.enqueue(news, queue: "mail")
        let members = news.dropFirst().map { DependencyName($0.id) }
        _ = try await broker.change(
            NeedsChange(group, added: OperationLinks(members: members)),
            by: "ann",
            queue: "mail"
        )
        let snapshot = try await broker.namespaceSnapshot(executingRows: 0) { .zero }
        let scan = OperationsScan(broker: broker, snapshot: snapshot, view: PayloadView())
        var request = OperationsRequest(state: nil, filter: try OperationQuery(parsing: "group:\(group)"))
        let reading = try await scan.run(request)
        #expect(Set(reading.operations.map(\.id)) == Set(members.map(\.id)) && reading.scanned == 2)
        let query = try OperationQuery(parsing: "group:mail/\(group)")
        #expect(
            try await BulkRun(broker: broker, change: BulkChange(.cancel, .matching(query)), view: PayloadView()).plan()
                .possible == 2
        )
        let unknown = try OperationQuery(parsing: "group:\(OperationID())")
        request.filter = unknown
        #expect(try await scan.run(request).unknown.first?.hasPrefix("no operation") == true)
        await #expect(throws: LookupFailure.self) {
            try await BulkRun(broker: broker, change: BulkChange(.cancel, .matching(unknown)), view: PayloadView())
                .plan()
        }
    }

    @Test("The rows of all queues are read only while the screen is shown")
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
        fetcher.look(at: .init(interval: .seconds(60), listed: OperationsRequest(state: .ready)))
        await fetcher.runOnce(deliver)
        let names = readings.withLock { $0 }.map { Set($0.operations.map(\.displayName)) }
        #expect(names == [["in.a", "in.b"]])
    }
}
