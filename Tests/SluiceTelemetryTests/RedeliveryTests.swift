import InMemoryTracing
import Logging
import Sluice
import SluiceTelemetry
import SluiceWorker
import Synchronization
import TestSupport
import Testing
import Tracing

private struct Wait: OperationArguments {
    typealias Output = Int
    static let name = "wait"
}

@Suite("Traces of an operation that runs again", .timeLimit(.minutes(60)))
struct RedeliveryTests {
    private let tracer = InMemoryTracer()
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    private func worker(_ sluice: SluiceClient, body: @escaping @Sendable () async throws -> Int) -> Worker {
        let configuration = WorkerConfiguration(drainTimeout: .zero)
        return Worker(client: sluice, configuration: configuration, logger: logger) {
            $0.register(Wait.self) { _, _ in try await body() }
        }
    }

    private func client(_ topic: String) throws -> SluiceClient {
        let configuration = SluiceConfiguration(
            .url(TestServer.shared.url(as: .worker)),
            namespace: uniqueNamespace(topic),
            timeouts: .patient,
            middleware: [OperationTracingMiddleware(tracer: tracer)]
        )
        return try SluiceClient(configuration: configuration, logger: logger)
    }

    /// A body that runs until its worker asks it to end.
    @Sendable
    private static func blocked() async throws -> Int {
        for await _ in AsyncStream<Never>.makeStream().stream {}
        throw CancellationError()
    }

    /// Checks that both runs have a span with a link to the one enqueue.
    private func expectRuns(ended expected: [String]) async throws {
        // A worker does not wait for a body that it has lost, so the span of that run may end after the worker.
        try await eventually("all spans have ended") { tracer.activeSpans.isEmpty }
        let send = try #require(tracer.finishedSpans.first { $0.operationName == "send default" })
        let runs = tracer.finishedSpans.filter { $0.operationName == "process default" }
        let states = runs.compactMap { span -> String? in
            guard case .string(let state)? = span.attributes["messaging.sluice.state"]?.toSpanAttribute() else {
                return nil
            }
            return state
        }
        // A body may end after the operation has run again.
        #expect(states.sorted() == expected.sorted())
        let links = runs.flatMap(\.links).compactMap { $0.context.inMemorySpanContext?.spanID }
        #expect(links == [send.spanID, send.spanID])
    }

    @Test("Each run of an operation that is given back has a span with its outcome and a link to the one enqueue")
    func twice() async throws {
        let sluice = try client("redelivery")
        let handle = try await sluice.enqueue(Wait())
        let first = worker(sluice, body: Self.blocked)
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
        try await expectRuns(ended: ["returned", "finished"])
    }

    @Test("The run of a worker that is taken for lost has a span of its own; so has the run that follows")
    func lost() async throws {
        let sluice = try client("lost")
        let handle = try await sluice.enqueue(Wait())
        let runs = Mutex(0)
        let worker = worker(sluice) {
            let number = runs.withLock { runs in
                runs += 1
                return runs
            }
            return number == 1 ? try await Self.blocked() : number
        }
        let running = Task { try await worker.run() }
        try await eventually("the first run begins") {
            tracer.activeSpans.contains { $0.operationName == "process default" }
        }
        _ = try await sluice.workerBroker.recoverWorker(worker: worker.id, queue: "default")
        #expect(try await handle.value == 2)
        worker.stop()
        try await running.value
        await sluice.close()
        try await expectRuns(ended: ["returned", "finished"])
    }
}
