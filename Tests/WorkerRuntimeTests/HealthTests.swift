import Operations
import TestSupport
import Testing

@testable import BrokerModel
@testable import WorkerRuntime

@Suite("A worker's health", .timeLimit(.minutes(60)))
struct HealthTests {
    private static let now = ContinuousClock.now

    /// Returns the health of a worker with two slots. Ages in seconds; nil means never.
    private func health(
        claimed: Int? = nil,
        answered: Int? = nil,
        listens: Bool = false,
        busy: Int = 0,
        phase: LocalQueue.Phase = .running
    ) -> WorkerHealth {
        var queue = LocalQueue(slots: 2)
        queue.add(QueueShare("default"))
        for _ in 0..<busy { queue.slots.start(0) }
        queue.phase = phase
        func instant(_ age: Int?) -> ContinuousClock.Instant? { age.map { Self.now - .seconds($0) } }
        let state = Liveness.State(claimedAt: instant(claimed), answeredAt: instant(answered), isListening: listens)
        return state.health(of: queue, at: Self.now)
    }

    @Test("A worker is ready while Redis answers and it claims, waits for work or has all slots busy")
    func ready() {
        #expect(health(claimed: 10, answered: 10) == WorkerHealth(isReady: true, reason: "claiming operations"))
        #expect(health(claimed: 60, answered: 1, listens: true).isReady)
        #expect(health(claimed: 60, answered: 1, busy: 2).reason == "all 2 slots are busy")
    }

    @Test("A worker is not ready if Redis does not answer, claims stall or it drains; the reason names the cause")
    func notReady() {
        let found = [
            health(), health(claimed: 1, answered: 11, listens: true, busy: 2), health(answered: 1),
            health(claimed: 11, answered: 1, busy: 1), health(claimed: 0, answered: 0, phase: .draining),
        ]
        #expect(found.allSatisfy { !$0.isReady })
        #expect(
            found.map(\.reason) == [
                "Redis has not answered yet", "Redis has not answered for 11 s", "no claim was answered yet",
                "no claim was answered for 11 s", "draining",
            ]
        )
    }

    @Test("A worker becomes ready once it waits for work, and is not ready after its stop")
    func running() async throws {
        let harness = Harness()
        #expect(!harness.worker.health().isReady)
        harness.start()
        #expect(await comesTrue { harness.worker.health().reason == "waiting for operations" })
        try await harness.stop()
        #expect(!harness.worker.health().isReady)
    }

    @Test("A worker is ready while no queue exists")
    func noQueue() async throws {
        let harness = Harness(configuration: .quick("*"))
        harness.start()
        #expect(
            await comesTrue { harness.worker.health() == WorkerHealth(isReady: true, reason: "there is no queue yet") }
        )
        try await harness.stop()
    }
}
