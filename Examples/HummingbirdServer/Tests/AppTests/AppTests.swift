import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import InMemoryTracing
import Metrics
import MetricsTestKit
import Sluice
import Testing
import Tracing

@testable import hummingbird_server

/// The backends of this process, which can be set once.
private enum Backends {
    static let metrics = TestMetrics()
    static let tracer = InMemoryTracer()
    private static let bootstrapped: Void = {
        MetricsSystem.bootstrap(metrics)
        InstrumentationSystem.bootstrap(tracer)
    }()

    static func bootstrap() { bootstrapped }
}

@Suite("The Hummingbird server", .serialized, .timeLimit(.minutes(60)))
struct AppTests {
    private static let tenant: HTTPFields = [HTTPField.Name("X-Tenant")!: "acme"]

    @Test("A request enqueues, the worker runs, and metrics, traces and the tenant follow it")
    func wholeLife() async throws {
        Backends.bootstrap()
        let redis = try await RedisServer()
        let configuration = redis.configuration
        let app = try App.server(configuration, port: 0)
        let id = try await app.test(.live) { client in
            let post = try await client.executeRequest(
                uri: "/greetings/Ada",
                method: .post,
                headers: Self.tenant,
                body: nil
            )
            #expect(post.status == .ok)
            let id = String(buffer: post.body)
            let get = try await client.executeRequest(uri: "/results/\(id)", method: .get, headers: [:], body: nil)
            #expect(String(buffer: get.body) == "Hello, Ada of acme!")
            // The middleware refuses an enqueue without a tenant.
            let refused = try await client.executeRequest(uri: "/greetings/Bob", method: .post, headers: [:], body: nil)
            #expect(refused.status == .badRequest && String(buffer: refused.body).contains("X-Tenant"))
            // A note is for another queue. The worker relays the completion there while it runs.
            let sluice = try await SluiceClient.connect(configuration)
            #expect(await becomesTrue { (try? await sluice.statistics(queue: "notes")[state: .ready]) == 1 })
            await sluice.close()
            return id
        }

        let ended = try Backends.metrics.expectCounter(
            "sluice_ended_total",
            [("queue", "greetings"), ("name", "greeting"), ("state", "finished")]
        )
        #expect(ended.totalValue == 1)
        #expect(Backends.metrics.counters.contains { $0.label == "hb.requests" })

        let spans = Backends.tracer.finishedSpans
        let sent = try #require(spans.first { $0.operationName == "send greetings" })
        let run = try #require(spans.first { $0.operationName == "process greetings" })
        let child = try #require(spans.first { $0.operationName == "send notes" })
        #expect(spans.contains { $0.spanID == sent.parentSpanID }, "the request is the parent of the enqueue")
        #expect(run.links.map { $0.context.inMemorySpanContext?.spanID } == [sent.spanID])
        #expect(child.parentSpanID == run.spanID)

        let sluice = try await SluiceClient.connect(redis.configuration)
        #expect(
            try await sluice.handle(try #require(OperationID(id)), of: Greeting.self, queue: "greetings").state()
                == .finished
        )
        for try await note in sluice.operations(.ready, queue: "notes") { #expect(note.headers["tenant"] == "acme") }
        await sluice.close()
    }

    @Test("SIGTERM lets a running operation end before the process exits with 0")
    func drains() async throws {
        let redis = try await RedisServer()
        let process = Process()
        process.executableURL = Bundle.main.executableURL?.deletingLastPathComponent().appending(
            path: "hummingbird-server"
        )
        process.environment = ProcessInfo.processInfo.environment.merging(["SLUICE_REDIS_URL": redis.url, "PORT": "0"])
        { $1 }
        process.standardError = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        defer { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }
        let sluice = try await SluiceClient.connect(redis.configuration)
        let greeting = Greeting(name: "Bob")
        let handle = try await sluice.enqueue(greeting, .queue("greetings"), .headers(["tenant": "acme"]))
        // The body has begun: a claimed operation whose body has not begun would be given back.
        #expect(await becomesTrue { (try? await handle.progress()) != nil })
        process.terminate()
        process.waitUntilExit()
        #expect(process.terminationReason == .exit && process.terminationStatus == 0)
        #expect(try await handle.value == "Hello, Bob of acme!")
        await sluice.close()
    }
}
