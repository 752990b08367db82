import Foundation
import MetricsTestKit
import Operations
import SluiceTelemetry
import SluiceTesting
import Testing

private struct Step: DistributedOperation {
    static let name = "step"
    static let retryPolicy = RetryPolicy(attempts: 2)
    var works: Bool

    func main(_ context: OperationContext) async throws {
        guard works else { throw OperationsError(.refused, "no") }
    }
}

@Suite("Metrics", .timeLimit(.minutes(60)))
struct MetricsTests {
    private let metrics = TestMetrics()

    private func total(_ name: String, _ labels: [(String, String)]) -> Int64 {
        metrics.counterTotal(label: name, dimensions: labels)
    }

    @Test("Enqueues, starts and ends are counted, and runs are timed")
    func runs() async throws {
        let sluice = InMemorySluice(middleware: [OperationMetricsMiddleware(factory: metrics)]) {
            $0.register(Step.self)
        }
        try await sluice.client.enqueue([Step(works: true), Step(works: true)])
        for _ in 0..<2 { try await sluice.client.enqueue(Step(works: false), .id(OperationID(key: "once"))) }
        try await sluice.drainAll()
        let labels = [("queue", "default"), ("name", "step")]
        #expect(total("sluice_started_total", labels) == 4)
        #expect(total("sluice_ended_total", labels + [("state", "finished")]) == 2)
        #expect(total("sluice_ended_total", labels + [("state", "retrying")]) == 1)
        #expect(total("sluice_ended_total", labels + [("state", "dead")]) == 1)
        #expect(try metrics.expectTimer("sluice_run_seconds", labels).values.count == 4)
        #expect(try metrics.expectTimer("sluice_wait_seconds", labels).values.allSatisfy { $0 >= 0 })
        let client = [("messaging.system", "sluice"), ("messaging.destination.name", "default")]
        #expect(total("messaging.client.sent.messages", client) == 4)
        #expect(total("messaging.client.consumed.messages", client) == 4)
        #expect(
            try metrics.expectTimer("messaging.client.operation.duration", client + [("error.type", "")]).values.count
                == 3
        )
        #expect(try metrics.expectTimer("messaging.process.duration", client).values.count == 4)
    }

    @Test("Lost leases, returns of Redis and the age of the outbox have the names of the page")
    func worker() throws {
        let middleware = OperationMetricsMiddleware(factory: metrics)
        let queue = [("queue", "mail")]
        for _ in 0..<2 { middleware.lostLease(queue: "mail") }
        middleware.reconnected(queue: "mail")
        for time in [Duration.milliseconds(1500), .zero] { middleware.outboxWaits(time, queue: "mail") }
        #expect(total("sluice_lease_lost_total", queue) == 2)
        #expect(total("sluice_reconnects_total", queue) == 1)
        #expect(try metrics.expectGauge("sluice_outbox_seconds", queue).values == [1.5, 0])
        #expect(MiddlewareChain([middleware]).observers.count == 1)
    }

    @Test("Labels have a bounded number of values: names beyond 75 and values of headers beyond 100 are other")
    func bounds() async throws {
        let sluice = InMemorySluice(middleware: [OperationMetricsMiddleware(headers: ["tenant"], factory: metrics)]) {
            for number in 0..<80 { $0.register(OperationDefinition("n\(number)") { () -> Void in }) }
        }
        for number in 0..<80 {
            try await sluice.client.enqueue(name: "n\(number)", .headers(["tenant": "t"]))
        }
        try await sluice.drain()
        #expect(metrics.counters(label: "sluice_started_total").count == 76)
        let other = [("queue", "default"), ("name", "other"), ("tenant", "t")]
        #expect(total("sluice_started_total", other) == 5)
        for number in 0..<105 { try await sluice.client.enqueue(name: "n0", .headers(["tenant": "t\(number)"])) }
        try await sluice.drain()
        #expect(total("sluice_started_total", [("queue", "default"), ("name", "n0"), ("tenant", "other")]) == 6)
    }

    @Test("Without a backend, middleware passes everything on")
    func off() async throws {
        let sluice = InMemorySluice(middleware: [OperationMetricsMiddleware()]) { $0.register(Step.self) }
        try await sluice.run(Step(works: true))
    }
}
