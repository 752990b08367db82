import Operations
import Synchronization
import TestSupport
import Testing

@testable import BrokerModel
@testable import WorkerRuntime

@Suite("A burst", .timeLimit(.minutes(60)))
struct BurstTests {
    @Test("A burst for ready operations also runs one due in 300 ms, but not one due in an hour")
    func ready() async throws {
        let harness = Harness(configuration: .quick(burst: .ready))
        let now = try await harness.broker.put("noop")
        let soon = try await harness.broker.put("noop", delay: 300)
        let later = try await harness.broker.put("noop", delay: 3_600_000)
        harness.start()
        try await harness.ended()
        #expect(try await harness.state(now) == .finished)
        #expect(try await harness.state(soon) == .finished)
        #expect(try await harness.state(later) == .scheduled)
    }

    @Test("A burst for all operations also waits for scheduled and retrying ones")
    func all() async throws {
        let harness = Harness(configuration: .quick(burst: .all))
        let later = try await harness.broker.put("noop", delay: 1500)
        let failing = try await harness.broker.put("fail", retry: RetryPolicy(attempts: 2, base: .milliseconds(1200)))
        harness.start()
        try await harness.ended()
        #expect(try await harness.state(later) == .finished)
        #expect(try await harness.state(failing) == .dead)
    }

    @Test("A burst waits while operations run elsewhere")
    func elsewhere() async throws {
        let gate = Latch()
        let probes = Latch()
        let harness = Harness(
            configuration: .quick(burst: .ready),
            idleProbe: {
                probes.open()
                return gate.isOpen
            }
        )
        harness.start()
        #expect(await comesTrue { probes.isOpen })
        gate.open()
        try await harness.ended()
    }

    @Test("A burst that is stopped drains like any other worker")
    func stopped() async throws {
        let gate = Gate()
        let harness = Harness(configuration: .quick(burst: .all), handlers: [holding(gate)])
        let id = try await harness.broker.put("hold")
        harness.start()
        #expect(await comesTrue { gate.arrived == [id] })
        harness.worker.stop()
        #expect(await comesTrue { harness.worker.core.queue.withLock { $0.phase == .draining } })
        gate.open()
        try await harness.ended()
        #expect(try await harness.state(id) == .finished)
    }

    @Test("A burst ends on a paused queue that still has operations")
    func paused() async throws {
        let harness = Harness(configuration: .quick(burst: .ready))
        let id = try await harness.broker.put("noop")
        try await harness.broker.setPaused(.pause(by: "tester"), queue: "default")
        harness.start()
        try await harness.ended()
        #expect(try await harness.state(id) == .ready)
    }
}
