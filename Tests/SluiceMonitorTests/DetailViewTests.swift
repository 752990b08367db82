import Operations
import TerminalText
import Testing

@testable import SluiceMonitor
@testable import SluiceOperator

@Suite("The monitor's screens", .timeLimit(.minutes(60)))
struct DetailViewTests {
    @Test("The detail screen shows the facts of one operation")
    func detail() {
        var model = shopModel()
        _ = model.handle(.enter)
        #expect(model.grid(80, 24).text.contains("reading …"))
        model.ingest(shopReading())
        #expect(
            (1...13).map { model.grid(80, 24).text(row: $0) }.joined(separator: "\n") == """
                 01KDZ9GN4R0000000000000008  encode.part7  ► executing
                 [i]nfo  [a]ttempts 2  [l]ogs  [g]raph  [t]imeline  [r]aw
                 queue video  priority veryHigh  tags vip
                 attempt 2/5  delivery 1  fence 8  on h3-w2
                 ████████████████████████████████░░░░░░░░░░░░░░░░  68%  pass 2 of 3
                 enqueued 12:01:11 › started 12:01:50 › runs for 2m41s
                 cancel requested 12:04:30 by ann@h (wrong\\x1bfile)
                 args   {"file":"a.mov","part":7}
                        25 B
                 header note=\\x1b[2J
                 header tenant=acme
                 error  12:01:41 attempt 1 exit: status 3

                """
        )
        model.ingest(DetailReading(address: OperationAddress(queue: "video", id: id(8)), detail: nil, time: noon))
        #expect(model.grid(80, 24).text(row: 1).hasSuffix("(removed meanwhile)"))
    }

    @Test("The detail screen has tabs for attempts, log, timeline and raw JSON")
    func detailTabs() {
        var model = shopModel()
        _ = model.handle(.enter)
        model.ingest(shopReading())
        func lines(_ key: String, _ rows: ClosedRange<Int>) -> String {
            _ = model.type(key)
            return rows.map { model.grid(100, 24).text(row: $0) }.joined(separator: "\n")
        }
        #expect(
            lines("a", 3...5) == """
                 attempt 1  12:01:41  exit
                   status 3
                 attempt 2  runs on h3-w2
                """
        )
        #expect(
            lines("l", 3...4) == """
                 12:04:30 frame 1
                 12:04:30 frame \\x1b[2J 2
                """
        )
        #expect(
            lines("t", 3...6) == """
                 12:01:11.000 enqueued                             30s ██████
                 12:01:41.000 attempt 1 failed: exit              9.0s       ██
                 12:01:50.000 started on h3-w2                   2m40s        ████████████████████████████████
                 12:04:30.000 cancel requested by ann@h: wr…      1.0s                                        █
                """
        )
        #expect(lines("r", 3...5).contains(#""id": "01KDZ9GN4R0000000000000008""#))
        #expect(model.type("y") == [.copy("01KDZ9GN4R0000000000000008")])
    }

    @Test("The timeline shows an operation recovered from a lost worker as waiting")
    func timelineOfRecovery() throws {
        var detail = try #require(shopReading().detail)
        detail.cancel = nil
        detail.errors = []
        detail.state = .ready
        let started = detail.record.startedAt
        detail.recoveries = [
            Recovery(
                at: started + 5000,
                startedAt: started,
                attempt: 1,
                delivery: 1,
                cause: .lease,
                worker: "W"
            )
        ]
        let timeline = OperationTimeline(detail, worker: "-", now: started + 60_000)
        let lost = "came back: W was lost: the lease of the worker ran out"
        #expect(timeline.steps.map(\.text) == ["enqueued", "started on W", lost])
        #expect(timeline.steps.map(\.lasted).suffix(2) == [5000, 55_000])
        detail.recoveries = []
        #expect(
            OperationTimeline(detail, worker: "-", now: started + 60_000).steps.last?.lasted == nil,
            "it does not run"
        )
    }

    @Test("The log is followed until it is scrolled back, and again from its end on")
    func logFollowing() {
        var model = shopModel()
        _ = model.handle(.enter)
        var long = shopReading()
        long.lines = (0..<50).map { LogLine(Array("line \($0).".utf8)) }
        model.ingest(long)
        _ = model.type("l")
        func draw() -> String {
            let view = MonitorView(model, size: ScreenSize(width: 80, height: 24), now: .zero, style: Style())
            model.detailScroll = view.detailScroll
            return view.grid().text
        }
        #expect(draw().contains("line 49.") && draw().contains("following 50/50"))
        _ = model.type("k")
        long.lines.append(LogLine(Array("newest".utf8)))
        model.ingest(long)
        #expect(!draw().contains("newest") && !draw().contains("following"))
        _ = model.type("G")
        #expect(draw().contains("newest") && draw().contains("following"))
        _ = model.type("f")
        _ = model.handle(.home)
        #expect(draw().contains("line 0."))
    }
}
