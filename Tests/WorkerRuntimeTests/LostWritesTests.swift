import Operations
import Synchronization
import TestSupport
import Testing

@testable import BrokerModel
@testable import WorkerRuntime

/// The broker comes back without its last writes: the claimed operations and the fence counter.
@Suite("A broker that has lost its last writes", .timeLimit(.minutes(60)))
struct LostWritesTests {
    @Test("A fence that the worker still holds is not reused; the lost operation ends uncounted", arguments: [1, 4])
    func fences(slots: Int) async throws {
        let gate = Gate()
        let fences = Mutex<[Int64]>([])
        let holding = OperationHandler(name: "hold") { _, context in
            let fence = try context.fence
            fences.withLock { $0.append(fence) }
            try await gate.pass(context)
            return []
        }
        let harness = Harness(configuration: .quick(slots: slots), handlers: [holding])
        harness.start()
        let before = try await harness.broker.put("hold", tracked: false)
        #expect(await comesTrue { gate.arrived == [before] })
        harness.broker.run("default") { queue in
            queue.fence = 0
            for worker in queue.workers.keys { queue.workers[worker]?.inFlight = [:] }
        }
        let after = try await harness.broker.put("hold", tracked: false)
        if slots > 1 { #expect(await comesTrue { gate.arrived == [before, after] }) }
        gate.open()
        #expect(await comesTrue { gate.arrived == [before, after] })
        try await harness.stop()
        #expect(fences.withLock { $0 } == [1, 2])
        let left = try await harness.broker.snapshot(queue: "default", executingRows: 10)
        #expect(left.executing.isEmpty && left.counts[.ready] ?? 0 == 0)
        #expect(left.totals["finished"] == 1)
    }
}
