import Operations
import Testing

@testable import WorkerRuntime

@Suite("The outbox of a queue", .timeLimit(.minutes(60)))
struct OutboxTests {
    private func operation(_ fence: Int64, tracked: Bool = true) -> HeldOperation {
        let header = OperationHeader(id: OperationID(), tracked: tracked)
        return HeldOperation(ClaimedOperation(fence: fence, header: header, envelope: []), queue: 0, context: .none)
    }

    /// Returns an outbox with operations of these fences that all ended with `settlement`.
    private func outbox(
        _ fences: ClosedRange<Int64>,
        tracked: Bool = true,
        _ settlement: Settlement = .finished(result: [])
    ) -> Outbox {
        var outbox = Outbox()
        for fence in fences { outbox.add(operation(fence, tracked: tracked), settlement) }
        return outbox
    }

    private func fences(_ ended: [Ended]) -> [Int64] { ended.map(\.operation.fence) }

    @Test("The outbox returns ended operations in order and is empty afterwards")
    func order() {
        var outbox = outbox(1...3)
        #expect(!outbox.isEmpty && fences(outbox.takeBatch()) == [1, 2, 3])
        #expect(outbox.isEmpty && outbox.takeBatch().isEmpty)
    }

    @Test("A batch is limited, and smaller for ends that cost the server more")
    func batches() {
        let finished = Settlement.finished(result: [])
        for (tracked, settlement, sizes) in [
            (false, finished, [500, 500, 200]), (true, finished, [100, 100, 100]),
            (false, .returned(.front), [50, 50, 50]), (true, .failed(.dead, error: []), [50, 50, 50]),
        ] {
            var outbox = outbox(1...1200, tracked: tracked, settlement)
            #expect(sizes.map { _ in outbox.takeBatch().count } == sizes)
        }
    }

    @Test("A batch has at most 1 MiB, but always at least one operation")
    func bytes() {
        var outbox = outbox(1...5, .finished(result: [UInt8](repeating: 0, count: 400_000)))
        #expect((0..<3).map { _ in outbox.takeBatch().count } == [2, 2, 1])
        outbox = self.outbox(1...2, .finished(result: [UInt8](repeating: 0, count: 2 << 20)))
        #expect(outbox.takeBatch().count == 1)
    }

    @Test("Unanswered ends are repeated first and alone, with the same fences")
    func repeats() {
        var outbox = outbox(1...4)
        let sent = outbox.takeBatch()
        for fence in 5...6 as ClosedRange<Int64> { outbox.add(operation(fence), .finished(result: [])) }
        #expect(!outbox.isRepeat)
        outbox.putBack(Array(sent[1...2]), .now)
        #expect(outbox.isRepeat)
        let repeated = outbox.takeBatch()
        #expect(fences(repeated) == [2, 3] && repeated.allSatisfy(\.isRepeat))
        #expect(!outbox.isRepeat && fences(outbox.takeBatch()) == [5, 6])
    }

    @Test("Half a batch, or half a batch of tracked operations, justifies a further call")
    func furtherCall() {
        #expect(!Outbox().fillsFurtherCall)
        for (count, tracked, isWorth) in [(249, false, false), (250, false, true), (49, true, false), (50, true, true)]
        {
            #expect(outbox(1...Int64(count), tracked: tracked).fillsFurtherCall == isWorth)
        }
    }
}
