import Operations
import Testing

@testable import SluiceMonitor
@testable import SluiceOperator

@Suite("The monitor's model", .timeLimit(.minutes(60)))
struct MonitorModelTests {
    private func operation(_ queue: String, _ number: Int) -> MonitorItem {
        .operation(OperationAddress(queue: queue, id: id(number)))
    }

    @Test("Until a key moves the selection, it is the longest-running operation, or else the first queue")
    func firstSelection() {
        #expect(shopModel().selectedItem == operation("video", 8))
        var idle = MonitorModel(namespace: "n", place: "")
        #expect(idle.selectedItem == nil)
        idle.ingest(NamespaceSnapshot(queues: [.make("b"), .make("a")], receivedAt: .zero))
        #expect(idle.selectedItem == .queue("a"))
    }

    @Test("The selection follows the id while rows appear, disappear and change places")
    func selectionFollowsID() {
        var model = shopModel()
        _ = model.type("j")
        #expect(model.selectedItem == operation("mail", 7))
        var next = shop(receivedAt: .seconds(11))
        next.queues[2].executing.removeAll()
        next.queues[0].executing.append(.make(20, name: "x", runtime: 99_000))
        model.ingest(next)
        #expect(model.selectedItem == operation("mail", 7))
    }

    @Test("If the selected row disappears, the row in its place is selected, or none if no row is left")
    func selectionOfVanished() {
        var model = shopModel()
        _ = model.type("j")
        var next = shop(receivedAt: .seconds(11))
        next.queues[0].executing.removeAll()
        model.ingest(next)
        #expect(model.selectedItem == operation("video", 9))
        model.ingest(NamespaceSnapshot(queues: [], receivedAt: .seconds(12)))
        #expect(model.selectedItem == nil)
        _ = model.type("jkgGcP")
        #expect(model.selectedItem == nil)
        #expect(model.dialog == nil)
    }

    @Test("j, k, g, G and the arrows move the selection, and stop at the ends")
    func moving() {
        var model = shopModel()
        _ = model.type("g")
        #expect(model.selectedItem == .queue("mail"))
        _ = model.handle(.up)
        #expect(model.selectedItem == .queue("mail"))
        _ = model.handle(.down)
        #expect(model.selectedItem == .queue("reports"))
        _ = model.type("Gj")
        #expect(model.selectedItem == operation("video", 9))
        _ = model.type("k")
        #expect(model.selectedItem == operation("mail", 7))
    }

    @Test("Digits and Tab show the existing screens")
    func screens() {
        var model = shopModel()
        let shown = ["4", "2", "5", "9", "3", "1"].map { key in
            _ = model.type(key)
            return model.screen
        }
        #expect(shown == [.workers, .operations, .events, .events, .queues, .overview])
        _ = model.handle(.tab)
        #expect(model.screen == .operations)
        _ = model.type("3")
        _ = model.handle(.tab)
        #expect(model.selectedItem == .worker("w1"))
    }

    @Test("Enter opens the selected operation, Esc and q go back, and q then quits")
    func detail() {
        var model = shopModel()
        #expect(model.handle(.enter) == [.refresh])
        #expect(model.detail?.address.id == id(8))
        #expect(model.type("q") == [])
        #expect(model.detail == nil)
        _ = model.handle(.enter)
        #expect(model.handle(.escape) == [])
        #expect(model.detail == nil)
        #expect(model.type("q") == [.quit])
        _ = model.type("g")
        #expect(model.handle(.enter) == [.refresh])
        #expect(model.detail == nil)
        #expect(model.screen == .operations)
        #expect(model.operations.filterText == "queue:mail")
    }

    @Test("c asks first, and only y cancels, with the typed reason")
    func cancel() throws {
        var model = shopModel()
        let target = OperationAddress(queue: "video", id: id(8))
        #expect(model.type("c") == [])
        #expect(model.dialog != nil)
        _ = model.handle(.tab)
        #expect(model.type("wrong y q ?") == [])
        _ = model.handle(.backspace)
        _ = model.handle(.backspace)
        #expect(model.handle(.enter) == [])
        #expect(model.type("y") == [.cancel(target, reason: "wrong y q")])
        #expect(model.dialog == nil)
    }

    @Test(
        "Every key except y declines the question",
        arguments: [Key.enter, .escape, .character("n"), .character("q")]
    )
    func declined(key: Key) {
        var model = shopModel()
        _ = model.type("c")
        #expect(model.handle(key) == [])
        #expect(model.dialog == nil)
        #expect(model.notice?.text == "nothing was changed")
    }

    @Test("The question keeps its operation when the selection moves")
    func steadyQuestion() {
        var model = shopModel()
        _ = model.type("c")
        var next = shop(receivedAt: .seconds(11))
        next.queues[2].executing.removeAll()
        model.ingest(next)
        #expect(model.type("y") == [.cancel(OperationAddress(queue: "video", id: id(8)), reason: "")])
    }

    @Test("P asks, then pauses a running queue or resumes a paused one")
    func pause() {
        var model = shopModel()
        #expect(model.type("Py") == [.setPaused(true, queue: "video")])
        #expect(model.type("gjPy") == [.setPaused(false, queue: "reports")])
    }

    @Test("A change that waits for Redis is shown, can be withdrawn with Esc, and blocks other changes")
    func pending() {
        var model = shopModel()
        #expect(model.type("Py") == [.setPaused(true, queue: "video")])
        model.begin(PendingChange("pause queue video"))
        model.ingestFailure("cannot reach Redis", retryAt: .seconds(17))
        func footer() -> String { model.grid(100, 24).text(row: 23) }
        #expect(footer() == " pause queue video: waits for Redis · Esc withdraws it")
        #expect(model.type("gPy") == [])
        #expect(model.notice == model.pending?.waiting)
        #expect(model.type("?") == [] && model.handle(.escape) == [] && model.help == nil)
        #expect(model.handle(.escape) == [.withdraw])
        model.withdraw(false)
        #expect(footer() == " pause queue video is sent already, and waits for its answer")
        model.withdraw(true)
        #expect(model.pending == nil && footer() == " withdrawn: pause queue video; nothing was changed")
        #expect(model.handle(.escape) == [] && footer() == " cannot reach Redis")
    }

    @Test("A change is either sent or withdrawn, never both")
    func gate() {
        let (sent, withdrawn) = (ChangeGate(), ChangeGate())
        #expect(sent.send() && !sent.withdraw() && !sent.send())
        #expect(withdrawn.withdraw() && !withdrawn.send() && !withdrawn.withdraw())
    }

    @Test("Q makes a worker quiet or resumes it, T stops it, and a lost worker is refused")
    func workerControl() throws {
        var model = shopModel()
        _ = model.type("4g")
        let worker = try #require(model.worker("w1"))
        #expect(model.type("Qy") == [.control(.quiet, worker)])
        #expect(model.type("Ty") == [.control(.stop, worker)])
        _ = model.type("jQ")
        #expect(model.dialog == nil)
        #expect(model.notice?.text.contains("is lost") == true)
        var next = shop(receivedAt: .seconds(11))
        let index = try #require(next.queues.firstIndex { $0.queue == "mail" })
        next.queues[index].workers[0].settings.set(.quiet, at: noon, by: "ann")
        model.ingest(next)
        #expect(model.grid(80, 24).text.contains("running, to be quiet"))
        let quiet = try #require(model.worker("w1"))
        #expect(model.type("gQy") == [.control(.resume, quiet)])
    }

    @Test("Read-only mode removes the keys that change something")
    func readOnly() {
        var model = shopModel(isReadOnly: true)
        #expect(model.type("cP4QTy") == [.copy("w1")])
        #expect(model.dialog == nil)
    }

    @Test("Ctrl-C quits from every screen")
    func interrupt() {
        var model = shopModel()
        #expect(model.handle(.control("c")) == [.interrupt])
        _ = model.type("c")
        #expect(model.handle(.control("c")) == [.interrupt])
        _ = model.handle(.tab)
        #expect(model.handle(.control("c")) == [.interrupt])
    }

    @Test("A frozen screen keeps its data, and then shows the newest")
    func frozen() {
        var model = shopModel()
        _ = model.type("p")
        model.ingest(NamespaceSnapshot(queues: [.make("new")], receivedAt: .seconds(11)))
        #expect(model.board?.queues.count == 3)
        #expect(model.isIdle)
        _ = model.type("p")
        #expect(model.board?.queues.map(\.name) == ["new"])
    }

    @Test("Log lines are added once, even if they are read twice or some were dropped")
    func log() {
        var pane = DetailPane(OperationAddress(queue: "q", id: id(1)))
        func read(_ first: Int, _ lines: [String]) {
            pane.update(
                DetailReading(
                    address: pane.address,
                    detail: nil,
                    time: noon,
                    firstLine: first,
                    lines: lines.map { LogLine(Array($0.utf8)) }
                )
            )
        }
        read(0, ["a", "b"])
        read(0, ["a", "b"])
        read(1, ["b", "c"])
        read(3, [])
        read(7, ["h"])
        #expect(pane.log.map { String(decoding: $0.text, as: UTF8.self) } == ["a", "b", "c", "h"])
        #expect(pane.nextLine == 8)
        #expect(pane.isMissing)
    }

    @Test("A late reading of an operation that is no longer shown changes nothing")
    func lateReading() {
        var model = shopModel()
        _ = model.handle(.enter)
        let other = OperationAddress(queue: "mail", id: id(7))
        model.ingest(DetailReading(address: other, detail: nil, time: noon, lines: [LogLine([65])]))
        #expect(model.detail?.isMissing == false)
        #expect(model.detail?.log.isEmpty == true)
    }
}
