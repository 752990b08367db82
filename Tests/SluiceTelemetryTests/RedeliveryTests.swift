import InMemoryTracing
import Logging
import Sluice
import SluiceTelemetry
import SluiceWorker
import TestSupport
import Testing
import Tracing

private struct Wait: OperationArguments {
    typealias Output = Int
    static let name = "wait"
}

@Suite("Traces of an operation that is given back", .timeLimit(.minutes(60)))
struct RedeliveryTests {
    private let tracer = InMemoryTracer()
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    private func worker(_ sluice: SluiceClient, body: @escaping @Sendable () async throws -> Int) -> Worker {
        let configuration = WorkerConfiguration(drainTimeout: .zero)
        return Worker(client: sluice, configuration: configuration, logger: logger) {
            $0.register(Wait.self) { _, _ in try await body() }
        }
    }

    @Test("Each run has a span with its outcome and a link to the one enqueue")
    func twice() async throws {
        let configuration = SluiceConfiguration(
            .url(TestServer.shared.url(as: .worker)),
            namespace: uniqueNamespace("redelivery"),
            timeouts: .patient,
            middleware: [OperationTracingMiddleware(tracer: tracer)]
        )
        let sluice = try SluiceClient(configuration: configuration, logger: logger)
        let handle = try await sluice.enqueue(Wait())
        let first = worker(sluice) {
            // The stream has no elements and ends when the worker asks the body to end.
            for await _ in AsyncStream<Never>.makeStream().stream {}
            throw CancellationError()
        }
        let running = Task { try await first.run() }
        try await eventually("the first run begins") {
            tracer.activeSpans.contains { $0.operationName == "process default" }
        }
        first.stop()
        try await running.value
        let second = worker(sluice) { 2 }
        let again = Task { try await second.run() }
        #expect(try await handle.value == 2)
        second.stop()
        try await again.value
        await sluice.close()
        let send = try #require(tracer.finishedSpans.first { $0.operationName == "send default" })
        let runs = tracer.finishedSpans.filter { $0.operationName == "process default" }
        let states = runs.compactMap { span -> String? in
            guard case .string(let state)? = span.attributes["messaging.sluice.state"]?.toSpanAttribute() else {
                return nil
            }
            return state
        }
        #expect(states == ["returned", "finished"])
        let links = runs.flatMap(\.links).compactMap { $0.context.inMemorySpanContext?.spanID }
        #expect(links == [send.spanID, send.spanID])
        #expect(tracer.activeSpans.isEmpty)
    }
}
