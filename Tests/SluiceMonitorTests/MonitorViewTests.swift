import Operations
import TerminalText
import Testing

@testable import SluiceMonitor
@testable import SluiceOperator

@Suite("The monitor's screens", .timeLimit(.minutes(60)))
struct MonitorViewTests {
    @Test("The overview at its design size")
    func overview() {
        #expect(
            shopModel().grid(80, 24).text == """
                 sluice ns:shop  redis://10.0.0.5:6379/0   live 0.3s ago · every 1s · 12:04 UTC
                 ready 1,204 sched 88 block 0 exec 3/24 retry 7 dead 3 fin 1.3M canc 12 exp 0
                 in – out – err –   workers 2, 1 LOST
                 out/s –
                 [1 Overview]  2 Operations   3 Queues   4 Workers   5 Events
                 QUEUE       READY  SCHED BLOCK  EXEC RETRY  DEAD  IN/s OUT/s OLDEST STATE
                 mail        1,020     12     0     1     2     1     –     –    14s run
                 reports       144     76     0     0     0     0     –     –    41m PAUSED
                 video          40      0     0     2     5     2     –     –  3m12s run
                 EXECUTING 3, longest first
                ►…000008 ⇈  encode.part7 video    h3-w2     2m41s ██████░░░░  68% pass 2 o…  1/5
                 …000007    SendEmail    mail     h1-w1       12s cancelling 3s              2/5
                 …000009    probe        video    h3-w2         – -                          1/5










                 Enter open  j k move  c cancel  P pause queue  p freeze  ? help  q quit
                """
        )
    }

    @Test("A server that takes no writes is named in red on each screen")
    func refusal() {
        var snapshot = shop()
        let refusal = WriteRefusal(
            server: nil,
            cause: .replica,
            reason: "it is a replica\u{1B}[31m",
            fix: "connect to the master"
        )
        snapshot.refusals = [refusal]
        var model = MonitorModel(namespace: "shop", place: "redis://10.0.0.5:6379/0")
        model.ingest(snapshot)
        for screen in 1...5 {
            _ = model.type("\(screen)")
            let header = model.grid(120, 24).text.prefix { $0 != "\n" }
            #expect(
                header.hasPrefix(#" Redis takes no writes: it is a replica\x1b[31m · connect to the mast"#),
                "\(header)"
            )
            #expect(header.contains("live 0.3s ago"))
        }
        #expect(model.grid(59, 14).text.hasPrefix(" NO WRITES live"))
        #expect(model.grid(29, 4).text.contains("NO WRITES"))
    }

    @Test("The limit of a queue is shown beside its running operations")
    func limits() {
        var snapshot = shop()
        for index in snapshot.queues.indices where snapshot.queues[index].queue == "mail" {
            snapshot.queues[index].limits.concurrency = 16
        }
        var model = MonitorModel(namespace: "shop", place: "redis://10.0.0.5:6379/0")
        model.ingest(snapshot)
        let lines = model.grid(80, 24).text.split(separator: "\n")
        #expect(lines.contains { $0.hasPrefix(" QUEUE") && $0.contains("EXEC/LIM") })
        #expect(lines.contains { $0.hasPrefix(" mail") && $0.contains(" 1/16 ") })
        #expect(lines.contains { $0.hasPrefix(" video") && $0.contains(" 2/- ") })
    }

    @Test("The overview at 60 by 15 leaves out the sparkline and the least important columns")
    func compact() {
        #expect(
            shopModel().grid(60, 15).text == """
                 sluice ns:shop  red…  live 0.3s ago · every 1s · 12:04 UTC
                 ready 1,204 sched 88 block 0 exec 3/24 retry 7 dead 3
                 in – out – err –   workers 2, 1 LOST
                 [1 Overview] 2 Operations  3 Queues  4 Workers  5 Events
                 QUEUE       READY  EXEC RETRY  DEAD OLDEST STATE
                 mail        1,020     1     2     1    14s run
                 reports       144     0     0     0    41m PAUSED
                 video          40     2     5     2  3m12s run
                 EXECUTING 3, longest first
                ►…000008 encode.part7 video    h3-w2     2m41s  68% pass 2 …
                 …000007 SendEmail    mail     h1-w1       12s cancelling 3s
                 …000009 probe        video    h3-w2         – -


                 Enter open  c cancel  P pause queue  ? help  q quit
                """
        )
    }

    @Test("Below 60 by 15, the screen shows counters and running operations")
    func small() {
        #expect(
            shopModel().grid(40, 7).text == """
                 live 0.3s                 12:04:31 UTC
                 ∘1,204 ◷88 ►3 ↻7 ✗3
                ►…000008 encode.part7  2m41s  68% pass …
                 …000007 SendEmail       12s cancelling…
                 …000009 probe             – -

                 q quit  needs 60x15 for lists
                """
        )
    }

    @Test("Below 30 by 4, the screen shows one line")
    func oneLine() {
        #expect(shopModel().grid(29, 10).text(row: 0) == "►3 ∘1,204 ✗3 live 0.3s")
        #expect(shopModel().grid(29, 1, now: .seconds(14)).text(row: 0) == "►3 ∘1,204 ✗3 STALE 4s")
        #expect(shopModel().grid(29, 1, ascii: true).text(row: 0) == "X3 R1,204 D3 live 0.3s")
    }

    @Test("Wider screens have more columns")
    func wide() {
        let header = shopModel().grid(120, 35).text(row: 5)
        #expect(header.contains("ERR/s WORKERS OLDEST STATE"))
        #expect(header.contains("BLOCK"))
    }

    @Test("The workers screen shows live and lost workers")
    func workers() {
        var model = shopModel()
        _ = model.type("4")
        #expect(
            (5...9).map { model.grid(80, 24).text(row: $0) }.joined(separator: "\n") == """
                 2 live   1 LOST   busy 3 of 24 slots, 12%
                 WORKER    HOST   QUEUES     SLOTS BUSY    DONE  FAIL  BEAT STATE
                ►h1-w1     gpu3   mail,video    16    1   1,902     5  0.6s running
                 h2-w1     gpu3   mail,video     8    2   1,902     5   41s LOST, 2 to recover
                 h3-w2     gpu3   mail,video     8    2   1,902     5  0.6s running
                """
        )
    }

    @Test("The age of a worker is shown in days and hours, or only in days if that is too long")
    func ages() {
        for (age, text) in [
            (Int64(86_399), "23h59m"), (10 * 86_400 + 82_800, "10d23h"), (100 * 86_400 + 82_800, "100d"),
        ] {
            var info = WorkerInfo(WorkerRow.make("w1").info)
            info?.startedAt = noon - age * 1_000
            var row = WorkerRow.make("w1")
            row.info = info?.encoded() ?? []
            var model = MonitorModel(namespace: "shop", place: "")
            model.ingest(NamespaceSnapshot(queues: [.make("mail", workers: [row])], receivedAt: .seconds(10)))
            _ = model.type("4")
            let line = model.grid(100, 24).text(row: 7)
            #expect(line.contains(" \(text) ") && !line.contains("…"), "\(line)")
        }
    }

    @Test("An operation of a lost worker is marked on each screen, one of a live worker of the same name is not")
    func lostRows() {
        var snapshot = shop()
        snapshot.queues[2].executing.append(
            .make(10, name: "orphan", worker: "w3", runtime: 60_000, progress: (0.5, "half"), cancelAge: 2_000)
        )
        var model = MonitorModel(namespace: "shop", place: "")
        model.ingest(snapshot)
        func line(_ name: String) -> String {
            model.grid(100, 24).text.split(separator: "\n").first { $0.contains(name) }.map(String.init) ?? ""
        }
        #expect(line("orphan").contains("LOST, to recover"), "\(line("orphan"))")
        #expect(!line("encode.part7").contains("LOST"))
        #expect(model.grid(40, 7).text.contains("LOST"))
        let lines = ProgressLines.lines(snapshot, rates: Rates(), style: Style())
        #expect(lines.contains { $0.contains("orphan") && $0.contains("LOST, to recover") })
        _ = model.type("2")
        var details = [(10, "orphan", "w3"), (8, "encode", "w2")].map { number, name, worker in
            let record = OperationRecord(
                header: OperationHeader(id: id(number)),
                state: .executing,
                enqueuedAt: noon,
                envelope: OperationEnvelope(name: name).encoded()
            )
            var detail = OperationDetail(queue: "video", record: record, state: .executing)
            detail.worker = worker
            return detail
        }
        details[0].progress = (0.5, "half")
        model.ingest(OperationsReading(OperationsRequest(state: .executing), details))
        #expect(line("orphan").contains("LOST, to recover") && !line("encode").contains("LOST"))
        _ = model.type("g")
        if model.selectedItem != .operation(details[0].address) { _ = model.type("j") }
        _ = model.handle(.enter)
        model.ingest(DetailReading(address: details[0].address, detail: details[0], time: noon))
        #expect(line("attempt").contains("LOST, to recover"))
    }

    @Test("The header shows the counts of stats under the beginnings of their names")
    func counts() throws {
        let snapshot = shop()
        let line = shopModel().grid(100, 24).text(row: 1)
        let stats = try #require(StatsJSON.object(snapshot, namespace: "shop")["counts"]?.objectValue)
        let shown = line.split(separator: " ").map(String.init)
        for (word, number) in zip(shown, shown.dropFirst()) where word.allSatisfy(\.isLetter) {
            let count = try #require(stats.members.first { $0.key.hasPrefix(word) }, "\(word)")
            let text = QuantityText.count(Int64(count.value.serialized()) ?? -1)
            #expect(number.split(separator: "/")[0] == text, "\(word)")
        }
        #expect(shown.count == 18)
    }

    @Test("The workers screen lists workers lost within a day, with the fate of their operations")
    func lostWorkers() {
        var model = shopModel()
        _ = model.type("4")
        var gone = LostWorker(worker: "w9", lostAt: noon - 120_000, recoveredAt: noon - 110_000, beatAt: 0)
        (gone.recovered, gone.dead) = (3, 1)
        gone.info = WorkerRow.make("w9", name: "h9\u{1B}[2J").info
        var others = [gone]
        for number in 0..<30 { others.append(LostWorker(worker: "x\(number)", lostAt: 1, recoveredAt: 1, beatAt: 0)) }
        model.ingest(LostSummary.merge([("mail", others)]))
        let grid = model.grid(80, 24)
        #expect(grid.text(row: 10) == " LOST in the last 24 h, newest first")
        #expect(grid.text(row: 11).hasPrefix(" WORKER"))
        #expect(grid.text(row: 12).hasPrefix(#" h9\x1b[2J"#), "\(grid.text(row: 12))")
        #expect(grid.text(row: 12).contains("2m ago") && grid.text(row: 12).contains("3 recovered, 1 dead"))
        #expect(grid.text(row: 13).contains("held nothing"))
        #expect(model.grid(60, 15).text.contains("LOST in the last 24 h"))
    }

    @Test("The queues screen lists groups that have not ended, with their ended and failed members")
    func groups() throws {
        func group(_ number: Int, _ name: String, _ ended: Int, of total: Int, failed: Int = 0, isOpen: Bool = false)
            throws
            -> GroupRow
        {
            let envelope = OperationEnvelope(name: GroupTerms.name, arguments: Array("{\"name\":\"\(name)\"}".utf8))
            let header = OperationHeader(id: id(number))
            let record = OperationRecord(
                header: header,
                state: .blocked,
                enqueuedAt: noon - 60_000,
                envelope: envelope.encoded()
            )
            var detail = OperationDetail(queue: "mail", record: record, state: .blocked)
            detail.links.group = GroupTerms(ifAbandoned: .close, leaseMilliseconds: 60_000)
            (detail.links.needCount, detail.links.unmetCount) = (total, total - ended + (isOpen ? 1 : 0))
            (detail.links.missCount, detail.links.isOpen) = (failed, isOpen)
            return try #require(GroupRow(detail, view: PayloadView()))
        }
        var model = shopModel()
        _ = model.type("3")
        model.ingest([
            try group(0x1A, "nightly", 1_200, of: 2_400, failed: 2),
            try group(0x2A, "im\\u001bport", 0, of: 3, isOpen: true),
        ])
        let grid = model.grid(80, 24)
        let first = (0..<24).first { grid.text(row: $0).hasPrefix(" GROUPS") } ?? 0
        #expect(
            (first...(first + 3)).map { grid.text(row: $0) }.joined(separator: "\n") == """
                 GROUPS, the newest first
                 GROUP      ID      QUEUE    STATE      ENDED                  FAILED    AGE
                 nightly    …00000T mail     closed     █████░░░░░ 1,200/2,400      2     1m
                 im\\x1bport …00001A mail     open       ░░░░░░░░░░ 0/3              0     1m
                """
        )
        model.ingest(try (0..<30).map { try group($0, "part \($0)", 0, of: 1) })
        #expect(model.grid(80, 24).text.contains("… 25 more: sluice list name:sluice.group"))
        for (width, height) in [(1, 1), (30, 4), (60, 15), (79, 24), (130, 35)] { _ = model.grid(width, height) }
    }

    @Test("The queues screen lists schedules, the next one first, with the time or the reason why it does not run")
    func schedules() {
        var model = shopModel()
        _ = model.type("3")
        func row(
            _ id: String,
            due: Int64? = nil,
            isPaused: Bool = false,
            _ change: (inout StoredSchedule) -> Void = { _ in }
        )
            -> ScheduleRow
        {
            var stored = StoredSchedule(
                id: id,
                revision: 1,
                isPaused: isPaused,
                changedAt: 0,
                changedBy: "ann",
                definition: [],
                due: due
            )
            change(&stored)
            return ScheduleRow(queue: "mail", stored)
        }
        let rows = [
            row("weekly", isPaused: true), row("done"), row("broken") { $0.runs.fault = "not signed" },
            row("nightly", due: noon + 7_200_000) {
                ($0.runs.enqueued, $0.runs.last) = (1204, (noon - 86_400_000, "x"))
            }, row("tick", due: noon + 3000),
        ]
        model.ingest(ScheduleRow.sorted(rows))
        let grid = model.grid(80, 24)
        let first = (0..<24).first { grid.text(row: $0).hasPrefix(" SCHEDULES") } ?? 0
        #expect(
            (first...(first + 6)).map { grid.text(row: $0) }.joined(separator: "\n") == """
                 SCHEDULES, the next first
                 SCHEDULE   QUEUE    NEXT       LAST       ENQUEUED
                 tick       mail     in 3s      –                 0
                 nightly    mail     in 2h      1d ago        1,204
                 broken     mail     stopped    –                 0
                 done       mail     over       –                 0
                 weekly     mail     paused     –                 0
                """
        )
        #expect(model.grid(60, 15).text.contains("SCHEDULES, the next first (4 of 5)"))
    }

    @Test("An unknown value is a dash, never a zero")
    func unknown() {
        let model = MonitorModel(namespace: "shop", place: "redis://h:6379/0")
        let text = model.grid(80, 24).text
        #expect(text.contains("connecting"))
        #expect(text.contains("ready – sched – block – exec – retry – dead – fin – canc – exp –"))
        #expect(text.contains("in – out – err –"))
        #expect(!text.contains("ready 0"))
        #expect(model.grid(29, 1).text(row: 0) == "►– ∘– ✗– connecting")
    }

    @Test("Old data stays dimmed, and the header shows the reason")
    func disconnected() {
        var model = shopModel()
        model.ingestFailure("cannot reach Redis", retryAt: .seconds(17))
        let grid = model.grid(100, 24, now: .seconds(15))
        #expect(grid.text(row: 0).hasSuffix("DISCONNECTED, retry in 2s, data from 12:04:31 · 12:04 UTC"))
        #expect(grid.text.contains("encode.part7"))
        #expect(grid.text(row: 23) == " cannot reach Redis")
        #expect(grid[1, 6].look.isDim)
        #expect(!shopModel().grid(100, 24)[1, 6].look.isDim)
    }

    @Test("The footer names only keys that work")
    func footer() {
        func footer(_ model: MonitorModel) -> String { model.grid(80, 24).text(row: 23) }
        var model = shopModel()
        #expect(footer(model) == " Enter open  j k move  c cancel  P pause queue  p freeze  ? help  q quit")
        _ = model.type("gj")
        #expect(footer(model) == " Enter open  j k move  P resume queue  p freeze  ? help  q quit")
        _ = model.type("4")
        #expect(footer(model) == " Enter open  j k move  Q quiet  T stop after drain  p freeze  ? help  q quit")
        #expect(footer(shopModel(isReadOnly: true)) == " Enter open  j k move  p freeze  ? help  q quit")
    }

    @Test("The question stands in a box, drawn in ASCII if requested")
    func dialog() {
        var model = shopModel()
        _ = model.type("c")
        let grid = model.grid(80, 24)
        #expect(
            (9...14).map { grid.text(row: $0) }.joined(separator: "\n") == """
                 EXEC┌ Cancel encode.part7? ──────────────────────────────────────────────┐
                ►…000│ 01KDZ9GN4R0000000000000008  queue video                            │  1/5
                 …000│ It runs on h3-w2, which gets a cancel request.                     │  2/5
                 …000│ reason: (none)                                                     │  1/5
                     │ [y] yes   [N] no   [Tab] type a reason                             │
                     └────────────────────────────────────────────────────────────────────┘
                """
        )
        #expect(model.grid(80, 24, ascii: true).text.contains("+ Cancel encode.part7? ---"))
        #expect(model.grid(25, 3).text(row: 2) == "Cancel encode.part7? y/N")
    }

    @Test("Hostile names put no control characters into cells, and stay in their columns")
    func hostile() {
        var snapshot = shop()
        let evil = "\u{1B}]0;pwned\u{7}\u{202E}日本語\u{9B}2J\r\n\tname"
        snapshot.queues[0].executing[0].name = evil
        snapshot.queues[2].executing[1].progress = (0.5, evil)
        snapshot.queues[2].workers[0].info = WorkerRow.make("w2", name: evil).info
        var model = MonitorModel(namespace: evil, place: evil)
        model.ingest(snapshot)
        model.ingestFailure(evil, retryAt: .zero)
        for key in ["1", "3", "4", "5", "1c"] {
            _ = model.type(key)
            for ascii in [false, true] {
                let grid = model.grid(80, 24, ascii: ascii)
                #expect(grid.cells.allSatisfy { !$0.glyph.unicodeScalars.contains(where: \.isTerminalHazard) })
                if ascii { #expect(grid.cells.allSatisfy { $0.glyph.isASCII }) }
            }
        }
    }

    @Test("The monitor draws every size", arguments: 0...26)
    func everySize(height: Int) {
        var models = [MonitorModel(namespace: "n", place: ""), shopModel(), shopModel(), shopModel(), shopModel()]
        _ = models[1].type("c")
        _ = models[2].type("?")
        _ = models[3].handle(.enter)
        _ = models[4].type("4P")
        models[3].ingest(shopReading())
        for width in stride(from: 0, through: 130, by: 3) {
            for model in models {
                let grid = model.grid(width, height, now: .seconds(20))
                #expect(grid.cells.count == width * height)
            }
        }
    }
}
