import Operations
import Testing

@testable import SluiceCLI
@testable import SluiceOperator
import SluiceMonitor

@Suite(.timeLimit(.minutes(60)))
struct SequenceSetTests {
    @Test("A sequence set contains the inserted numbers and no others")
    func numbers() {
        var set = SequenceSet()
        let numbers: Set<Int64> = [0, 1, 63, 64, 127, 1 << 40]
        for number in numbers { set.insert(number) }
        for number in numbers.flatMap({ [$0, $0 + 1] }) {
            #expect(set.contains(number) == numbers.contains(number), "\(number)")
        }
    }
}

@Suite(.timeLimit(.minutes(60)))
struct OutcomeSummaryTests {
    private func rows(_ count: Int, _ result: OperationOutcome.Result, _ kind: String) -> [OperationOutcome] {
        (0..<count).map {
            OperationOutcome(reference: "\(kind)\($0)", result: result, text: "is \(kind)", name: kind)
        }
    }

    private func error(_ rows: [OperationOutcome]) -> CLIError? {
        OutcomeSummary(rows).error(participle: "cancelled", namespace: "shop", fix: "fix")
    }

    @Test("Up to ten refused targets are listed; more are counted by kind, with a few ids")
    func notes() {
        #expect(error(rows(3, .done, "cancelled")) == nil)
        let few = error(rows(10, .refused, "finished") + rows(1, .done, "cancelled"))
        #expect(few?.status == .partly && few?.message == "10 of 11 not cancelled")
        #expect(few?.notes.count == 10 && few?.notes.first == "finished0 is finished")
        let many = rows(4_000, .refused, "finished") + rows(2, .unknown, "unknown") + rows(5, .done, "cancelled")
        let error = error(many)
        #expect(error?.message == "4,002 of 4,007 not cancelled")
        #expect(
            error?.notes == ["4,000 finished: finished0 finished1 finished2 …", "2 unknown: unknown0 unknown1"]
        )
        #expect(OutcomeSummary(many).text == "4,000 finished, 2 unknown, 5 cancelled")
    }

    @Test("A single target is reported with its own status")
    func single() {
        #expect(error(rows(1, .refused, "finished")) == CLIError(.refused, "finished0 is finished", fix: "fix"))
        #expect(error(rows(1, .unknown, "unknown"))?.message.contains("no operation unknown0") == true)
    }
}

@Suite(.timeLimit(.minutes(60)))
struct CallsOfAChangeTests {
    @Test(
        "Named operations are changed once each: in their order, or with one call per queue if the order does not count"
    )
    func order() {
        let ids = (0..<4).map { _ in OperationID() }
        let places = [("b", 0), ("a", 1), ("b", 2), ("b", 0), ("b", 3)].map { Location(queue: $0.0, id: ids[$0.1]) }
        func calls(inOrder: Bool) -> [String] {
            Change.calls(places, inOrder: inOrder).map { call in
                call.queue + call.ids.map { " \(ids.firstIndex(of: $0) ?? -1)" }.joined()
            }
        }
        #expect(calls(inOrder: true) == ["b 0", "a 1", "b 2 3"])
        #expect(calls(inOrder: false) == ["b 0 2 3", "a 1"])
    }
}
