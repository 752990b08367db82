import Operations
import Sluice
import SluiceOperator
import TerminalText
import Testing

@testable import SluiceCLI

@Suite("Events as lines", .timeLimit(.minutes(60)))
struct EventRowsTests {
    private let id = OperationID("01J9ZM2QAAAAAAAAAAAA7QK2MX")!

    private func batch(_ queue: String) -> EventBatch {
        EventBatch(queue: queue, from: 1, to: 3, counts: [.ready: 3], transitions: [(id, .ready)])
    }

    @Test("A table has a row for each transition, and counts the transitions without an id")
    func table() {
        let rows = EventRows(format: .table, width: nil)
        #expect(
            rows.header + rows.lines(batch("mail"), at: 43_471_204) == [
                "TIME          ID / BY                     STATE             QUEUE  NAME / DETAIL",
                "12:04:31.204  01J9ZM2QAAAAAAAAAAAA7QK2MX  ready             mail",
                "12:04:31.204  and 2 more                  -                 mail",
            ]
        )
    }

    @Test("A change has a row with operator, verb, count and reason, without control characters")
    func change() {
        var batch = batch("mail")
        batch.transitions = []
        batch.counts = [:]
        batch.change = QueueChange(.cancelQueue, by: "ann@h1", count: 1200, detail: "wrong\u{1b}[2J file")
        let rows = EventRows(format: .table, width: nil).lines(batch, at: 43_471_204)
        #expect(
            rows == [
                "12:04:31.204  ann@h1                      cancel            mail  the whole queue, 1,200 operations, wrong\\x1b[2J file"
            ]
        )
        #expect(EventRows(format: .id, width: nil).lines(batch, at: 0).isEmpty)
    }

    @Test(
        "Durations of changes read like those of commands, and a reason stays as it is",
        arguments: [
            (QueueChange(.pause, by: "ann", detail: "for 36000 s, wait for 60 s"), "for 10h, wait for 60 s"),
            (QueueChange(.pause, by: "ann", detail: "for 0.5 s"), "for 500ms"),
            (QueueChange(.pause, by: "ann", detail: "server down for 60 s"), "server down for 60 s"),
            (
                QueueChange(.setStandingCancel, by: "ann", detail: "name:a for 90 s, not today"),
                "name:a for 1m30s, not today"
            ),
            (QueueChange(.hold, by: "ann", count: 1, detail: "for 60 s"), "1 operation, for 60 s"),
            (QueueChange(.endChange, by: "ann", count: 7, detail: "01J9 complete, 7 held"), "01J9 complete, 7 held"),
        ]
    )
    func durations(_ change: QueueChange, _ sentence: String) { #expect(change.sentence == sentence) }

    @Test("A recovery shows the name of the lost worker where it is known; other authors stay")
    func recovery() {
        let recovery = QueueChange(.recover, by: "W1", count: 2)
        #expect(recovery.author { $0 == "W1" ? "gpu-1" : nil } == "gpu-1")
        #expect(recovery.author { _ in nil } == "W1")
        #expect(QueueChange(.pause, by: "W1").author { _ in "gpu-1" } == "W1")
    }

    @Test("States are shown in the order in which a step enters them")
    func order() {
        var batch = EventBatch(
            queue: "mail",
            from: 1,
            to: 9,
            counts: [.executing: 2, .ready: 1, .expired: 1, .blocked: 5],
            transitions: [(id, .ready), (id, .executing)]
        )
        #expect(batch.countsInOrder.map(\.state) == [.ready, .executing, .blocked, .expired])
        batch.transitions = [(id, .executing), (id, .ready)]
        #expect(batch.countsInOrder.first?.state == .executing)
    }

    @Test(
        "Two blanks follow each cell, also the longest word and a name that is wider than its column",
        arguments: QueueChange.Verb.allCases
    )
    func blanks(_ verb: QueueChange.Verb) {
        var batch = batch("mail")
        batch.transitions = []
        batch.change = QueueChange(verb, by: String(repeating: "a", count: 40) + "@h1", detail: "why")
        let rows = EventRows(format: .table, width: nil).lines(batch, at: 43_471_204)
        #expect(rows[0].contains("@h1  \(QueueChange(verb, by: "").word)  "), "\(rows)")
        #expect(rows[0].contains("  mail  "), "\(rows)")
    }

    @Test("A line is cut to the width of a terminal, and complete without a width")
    func width() {
        let queue = String(repeating: "q", count: 128)
        #expect(EventRows(format: .table, width: 80).lines(batch(queue), at: 0).allSatisfy { $0.displayWidth == 80 })
        #expect(EventRows(format: .wide, width: nil).lines(batch(queue), at: 0)[0].hasSuffix(queue))
    }

    @Test("Ids, CSV and JSON lines have the documented forms")
    func others() {
        #expect(EventRows(format: .id, width: nil).lines(batch("mail"), at: 0) == [id.description])
        #expect(
            EventRows(format: .csv, width: nil).lines(batch("mail"), at: 0)
                == ["1970-01-01T00:00:00.000Z,mail,1,3,\(id),ready,,,,,,"]
        )
        #expect(EventRows(format: .jsonl, width: nil).lines(batch("mail"), at: 0)[0].hasPrefix("{\"v\":1"))
    }
}
