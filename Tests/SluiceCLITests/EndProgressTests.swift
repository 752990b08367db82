import Operations
import TerminalText
import Testing

@testable import SluiceCLI

@Suite(.timeLimit(.minutes(60)))
struct EndProgressTests {
    private let style = Style(color: .never, ascii: false, isTerminal: false, environment: ["LC_ALL": "C.UTF-8"])

    private func detail(_ state: OperationState, progress: (fraction: Double, message: String)? = nil)
        -> OperationDetail
    {
        let record = OperationRecord(
            header: OperationHeader(id: OperationID()),
            state: state,
            enqueuedAt: 1,
            envelope: OperationEnvelope(name: "encode").encoded()
        )
        var detail = OperationDetail(queue: "video", record: record, state: state)
        detail.progress = progress
        return detail
    }

    private func line(_ ended: Int, of total: Int, _ open: [OperationDetail], rate: EndRate = EndRate()) -> String {
        EndProgress(ended: ended, total: total, open: open, rate: rate).line(style)
    }

    @Test("The line counts all awaited operations, although only the first open ones are read")
    func counts() {
        let many = line(50, of: 200, Array(repeating: detail(.executing), count: 50))
        #expect(many == "►  25% ██░░░░░░░░ 50/200")
        #expect(line(1_500, of: 3_000, [detail(.ready)]) == "►  50% █████░░░░░ 1,500/3,000")
        #expect(line(200, of: 200, []) == "► 100% ██████████ 200/200")
    }

    @Test("States are counted if all open operations were read, and progress counts as part of an operation")
    func states() {
        let open = [detail(.executing, progress: (0.5, "pass 2")), detail(.ready), detail(.ready), detail(.finished)]
        #expect(
            line(1, of: 5, open) == "►  30% ███░░░░░░░ 1/5 · 1 executing, 2 ready · encode: \"pass 2\""
        )
        #expect(line(0, of: 0, []) == "►   0% ░░░░░░░░░░ 0/0")
    }

    @Test("Ended members of a group count as part of an operation, and members are counted")
    func groups() {
        var group = detail(.blocked)
        group.record.envelope = OperationEnvelope(name: "sluice.group", arguments: Array(#"{"name":"nightly"}"#.utf8))
            .encoded()
        group.links.group = GroupTerms(ifAbandoned: .close, leaseMilliseconds: 1)
        (group.links.needCount, group.links.unmetCount, group.links.isOpen) = (10, 8, true)
        #expect(line(0, of: 1, [group]) == "►  30% ███░░░░░░░ 0/1 · 1 blocked · 3/10 members")
    }

    @Test("The rate covers the last half minute and determines the remaining time")
    func rates() {
        var rate = EndRate()
        #expect(rate.perSecond == nil && rate.time(for: 10) == nil)
        rate.add(ended: 100, at: .seconds(1))
        rate.add(ended: 100, at: .seconds(2))
        #expect(rate.perSecond == nil)
        rate.add(ended: 120, at: .seconds(3))
        #expect(rate.perSecond == 10)
        #expect(
            line(120, of: 200, Array(repeating: detail(.ready), count: 50), rate: rate).hasSuffix(
                "120/200 · 10/s · ETA 8s"
            )
        )
        rate.add(ended: 121, at: .seconds(60))
        rate.add(ended: 122, at: .seconds(100))
        #expect(rate.perSecond == 0.025)
        #expect(line(122, of: 123, [detail(.ready)], rate: rate).contains(" · 1.5/min · ETA 40s · 1 ready"))
    }
}
