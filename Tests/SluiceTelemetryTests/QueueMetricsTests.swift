import MetricsTestKit
import Sluice
import SluiceTelemetry
import SluiceWorker
import TestSupport
import Testing

@Suite("Metrics of queues", .timeLimit(.minutes(60)))
struct QueueMetricsTests {
    private let metrics = TestMetrics()

    private func value(_ name: String, _ labels: (String, String)...) -> Double? {
        try? metrics.expectMeter(name, labels).lastValue
    }

    @Test("Depth, pause and workers of a queue are those that Redis has; the age says how old they are")
    func depth() async throws {
        let sluice = try await SluiceClient.test(
            TestServer.shared.url(as: .worker),
            namespace: uniqueNamespace("depth")
        )
        try await sluice.pause(queue: "mail")
        try await sluice.enqueue(name: "noop", .queue("mail"))
        try await sluice.enqueue(name: "noop", .queue("mail"), .delay(.seconds(3600)))
        try await sluice.enqueue(name: "noop", .queue("other"))
        let worker = Worker(client: sluice, configuration: .init(queues: ["mail"], slots: 3)) { _ in }
        let working = Task { try await worker.run() }
        try await eventually("the worker is running, and the oldest operation has waited") {
            let snapshot = try await sluice.broker.snapshot(queue: "mail", executingRows: 0)
            return snapshot.liveWorkers.count == 1 && snapshot.oldestReadyMilliseconds ?? 0 > 0
        }
        let collecting = Task {
            try await QueueMetrics(client: sluice, interval: .seconds(1), factory: metrics).run()
        }
        let (mail, other) = (("queue", "mail"), ("queue", "other"))
        // The age is reported last: then all queues have been looked at.
        try await eventually("the age is reported") { value("sluice_snapshot_age_seconds") != nil }
        #expect(value("sluice_workers", mail, ("state", "running")) == 1)
        #expect(value("sluice_operations", mail, ("state", "ready")) == 1)
        #expect(value("sluice_operations", mail, ("state", "scheduled")) == 1)
        #expect(value("sluice_operations", other, ("state", "ready")) == 1)
        #expect(value("sluice_queue_paused", mail) == 1 && value("sluice_queue_paused", other) == 0)
        #expect(value("sluice_slots", mail) == 3 && value("sluice_slots_busy", mail) == 0)
        #expect(value("sluice_workers", mail, ("state", "lost")) == 0)
        #expect(try #require(value("sluice_oldest_ready_seconds", mail)) > 0)
        #expect(metrics.counterTotal(label: "sluice_enqueued_total", dimensions: [mail]) == 2)
        #expect(value("sluice_build_info", ("version", "0.1.0")) == 1)
        collecting.cancel()
        try await collecting.value
        worker.stop()
        try await working.value
        await sluice.close()
    }
}
