import Operations
import TestSupport
import Testing

@testable import BrokerModel
@testable import WorkerRuntime

@Suite("A worker with a limited life", .timeLimit(.minutes(60)))
struct RecyclingTests {
    @Test("With one slot, a worker ends exactly at its limit of runs and gives back what it claimed ahead")
    func afterRuns() async throws {
        var configuration = WorkerConfiguration.quick(slots: 1)
        configuration.maxOperations = 7
        let harness = Harness(configuration: configuration)
        var ids: [OperationID] = []
        for _ in 1...20 { ids.append(try await harness.broker.put("noop")) }
        harness.start()
        try await harness.ended()
        var states: [OperationState?] = []
        for id in ids { states.append(try await harness.state(id)) }
        #expect(states == [OperationState?](repeating: .finished, count: 7) + .init(repeating: .ready, count: 13))
        let record = try await harness.detail(ids[7])?.record
        #expect(record?.header.failedAttempts == 0 && record?.header.delivery == 1)
        #expect(harness.log.messages.count { $0.contains("recycling: the limit of operations") } == 1)
        #expect(try await harness.broker.snapshot(queue: "default", executingRows: 0).workers.isEmpty)
    }

    @Test("A worker at its limit lets other running operations end")
    func letsOthersEnd() async throws {
        let gate = Gate()
        var configuration = WorkerConfiguration.quick(slots: 2)
        configuration.maxOperations = 1
        let harness = Harness(configuration: configuration, handlers: [holding(gate)])
        let held = try await harness.broker.put("hold")
        harness.start()
        #expect(await comesTrue { gate.arrived == [held] })
        let short = try await harness.broker.put("noop")
        #expect(await comesTrue { harness.log.messages.contains { $0.contains("recycling") } })
        gate.open()
        try await harness.ended()
        #expect(try await harness.state(held) == .finished)
        #expect(try await harness.state(short) == .finished)
    }

    @Test("A worker ends when a heartbeat finds more memory than allowed, and not before")
    func aboveMemory() async throws {
        var configuration = WorkerConfiguration.quick()
        configuration.maxResidentBytes = 16 << 20
        let harness = Harness(configuration: configuration)
        harness.worker.core.checkMemory(16 << 20)
        #expect(harness.worker.core.stopping.current == .none)
        harness.start()
        try await harness.ended()
        #expect(harness.log.messages.contains { $0.contains("recycling: the limit of resident memory") })
    }

    @Test("Limits that would end a worker at once are refused")
    func validation() {
        #expect(throws: WorkerError.self) { try WorkerConfiguration(maxOperations: 0).validate() }
        #expect(throws: WorkerError.self) { try WorkerConfiguration(maxResidentBytes: 1 << 20).validate() }
        #expect(throws: Never.self) {
            try WorkerConfiguration(maxOperations: 1, maxResidentBytes: 16 << 20).validate()
        }
    }
}
