import Foundation
import InMemoryTracing
import Logging
import Operations
import SluiceTelemetry
import SluiceTesting
import Testing
import Tracing

private struct Step: DistributedOperation {
    static let name = "step"
    var number: Int

    func main(_ context: OperationContext) async throws -> Int {
        if number < 0, context.attempt == 1 { throw Flat() }
        return number
    }
}

private struct Flat: Error {}

/// Enqueues a child, a child that starts with its completion, and one in another queue that waits for the child.
private struct Parent: DistributedOperation {
    static let name = "parent"

    func main(_ context: OperationContext) async throws {
        let child = try await context.enqueue(Step(number: 1))
        try await context.enqueue(Step(number: 2), .withCompletion)
        try await context.enqueue(Step(number: 3), .queue("other"), .after(child.reference))
    }
}

@Suite("Traces", .timeLimit(.minutes(60)))
struct TracingTests {
    private let tracer = InMemoryTracer()
    private let sluice: InMemorySluice

    init() {
        let tracer = tracer
        sluice = InMemorySluice(queues: ["default", "other"], middleware: [OperationTracingMiddleware(tracer: tracer)])
        {
            $0.register(Step.self)
            $0.register(Parent.self)
        }
    }

    private func spans(_ name: String) -> [FinishedInMemorySpan] {
        tracer.finishedSpans.filter { $0.operationName == name }
    }

    private func text(_ span: FinishedInMemorySpan, _ key: String) -> String? {
        span.attributes[key]?.toSpanAttribute().text
    }

    private func linked(_ span: FinishedInMemorySpan) -> [String] {
        span.links.compactMap { $0.context.inMemorySpanContext?.spanID }
    }

    @Test("A run has a trace of its own with a link to its enqueue; both say what OpenTelemetry asks for")
    func link() async throws {
        let handle = try await tracer.withSpan("request") { _ in try await sluice.client.enqueue(Step(number: 7)) }
        try await sluice.drain()
        let (request, send, process) = (
            try #require(spans("request").first), try #require(spans("send default").first),
            try #require(spans("process default").first)
        )
        #expect(send.parentSpanID == request.spanID && send.traceID == request.traceID && send.kind == .producer)
        #expect(process.parentSpanID == nil && process.traceID != send.traceID && process.kind == .consumer)
        #expect(linked(process) == [send.spanID])
        for (span, word) in [(send, "send"), (process, "process")] {
            #expect(text(span, "messaging.system") == "sluice")
            #expect(text(span, "messaging.operation.name") == word)
            #expect(text(span, "messaging.operation.type") == word)
            #expect(text(span, "messaging.destination.name") == "default")
            #expect(text(span, "messaging.message.id") == "\(handle.id)")
            #expect(text(span, "messaging.sluice.name") == "step")
            #expect(span.attributes["error.type"] == nil && span.status == nil)
        }
        #expect(text(process, "messaging.sluice.state") == "finished")
        #expect(text(process, "messaging.sluice.attempt") == "1" && text(process, "messaging.sluice.delivery") == "1")
        #expect(tracer.activeSpans.isEmpty)
    }

    @Test("With .children a run is a child of its enqueue")
    func children() async throws {
        let sluice = InMemorySluice(middleware: [OperationTracingMiddleware(runs: .children, tracer: tracer)]) {
            $0.register(Step.self)
        }
        try await sluice.client.enqueue(Step(number: 7))
        try await sluice.drain()
        let send = try #require(spans("send default").first)
        let process = try #require(spans("process default").first)
        #expect(process.parentSpanID == send.spanID && process.traceID == send.traceID && process.links.isEmpty)
    }

    @Test("Operations that a run enqueues belong to its span: children, also with its completion or in another queue")
    func descendants() async throws {
        try await sluice.client.enqueue(Parent())
        try await sluice.drain()
        let parent = try #require(spans("process default").first { text($0, "messaging.sluice.name") == "parent" })
        let sends = (spans("send default") + spans("send other")).filter { text($0, "messaging.sluice.name") == "step" }
        #expect(sends.count == 3 && sends.allSatisfy { $0.parentSpanID == parent.spanID })
        let runs = (spans("process default") + spans("process other")).filter {
            text($0, "messaging.sluice.name") == "step"
        }
        #expect(Set(runs.flatMap(linked)) == Set(sends.map(\.spanID)))
        #expect(runs.count == 3 && runs.allSatisfy { $0.links.count == 1 && $0.parentSpanID == nil })
    }

    @Test("The callback of a group belongs to the trace that made the group")
    func callback() async throws {
        _ = try await tracer.withSpan("request") { _ in
            try await sluice.client.withGroup("both", onSuccess: Step(number: 2)) { $0.add(Step(number: 1)) }
        }
        try await sluice.drain()
        let request = try #require(spans("request").first)
        let sends = spans("send default")
        #expect(sends.count == 2 && sends.allSatisfy { $0.parentSpanID == request.spanID })
        #expect(Set(spans("process default").flatMap(linked)) == Set(sends.map(\.spanID)))
    }

    @Test("Each attempt is a span that refers to the same enqueue; a failed one has its error")
    func attempts() async throws {
        try await sluice.client.enqueue(Step(number: -1))
        try await sluice.drainAll()
        let send = try #require(spans("send default").first)
        let runs = spans("process default").sorted {
            text($0, "messaging.sluice.attempt")! < text($1, "messaging.sluice.attempt")!
        }
        #expect(runs.map { text($0, "messaging.sluice.state") } == ["retrying", "finished"])
        #expect(runs.map { text($0, "error.type") } == ["Flat", nil])
        #expect(runs.map { $0.status?.code == .error } == [true, false])
        #expect(runs.map(linked) == [[send.spanID], [send.spanID]])
    }

    @Test("A schedule begins a trace at each instant, independent of the trace that set the schedule")
    func schedule() async throws {
        _ = try await tracer.withSpan("typing") { _ in
            try await sluice.client.schedules.set("hourly", .every(.seconds(3600)), Step(number: 1))
        }
        for _ in 0..<2 {
            sluice.clock.advance(by: .seconds(3601))
            try await sluice.drain()
        }
        let typing = try #require(spans("typing").first)
        let sends = spans("send default")
        #expect(sends.count == 2 && Set(sends.map(\.traceID)).count == 2)
        #expect(sends.allSatisfy { $0.parentSpanID == nil && $0.traceID != typing.traceID })
        #expect(Set(spans("process default").flatMap(linked)) == Set(sends.map(\.spanID)))
    }

    @Test("An enqueue that joins an operation has a link to the enqueue of that one")
    func join() async throws {
        for _ in 0..<2 { try await sluice.client.enqueue(Step(number: 1), .unique("one")) }
        let sends = spans("send default")
        #expect(sends.map(linked) == [[], [sends[0].spanID]])
    }

    @Test("The span of a failed enqueue has its error; that of a bulk enqueue has the number of operations")
    func enqueues() async throws {
        try await sluice.client.enqueue([Step(number: 1), Step(number: 2)])
        let bulk = try #require(spans("send default").first)
        #expect(text(bulk, "messaging.batch.message_count") == "2" && bulk.attributes["messaging.message.id"] == nil)
        _ = try? await sluice.client.enqueue(Step(number: 1), .unique("u"), .untracked)
        _ = try? await sluice.client.enqueue(Step(number: 1), .after(OperationID(key: "unknown")))
        let failed = try #require(spans("send default").last)
        #expect(text(failed, "error.type") == "OperationsError" && failed.status?.code == .error)
    }

    @Test("A context that headers do not allow is left out as a whole, and the enqueue goes on")
    func baggage() async throws {
        let full = Dictionary(uniqueKeysWithValues: (0..<31).map { ("h\($0)", "x") })
        let handle = try await sluice.client.enqueue(Step(number: 1), .headers(full))
        try await sluice.drain()
        #expect(try await handle.value == 1)
        // One header of the two of this tracer fits.
        #expect(spans("process default").first?.links.isEmpty == true)
    }

    @Test("Without a tracer, nothing is added")
    func off() async throws {
        let sluice = InMemorySluice(middleware: [OperationTracingMiddleware()]) { $0.register(Step.self) }
        try await sluice.client.enqueue(Step(number: 1))
        try await sluice.drain()
        for try await done in sluice.client.operations(.finished) { #expect(done.headers.isEmpty) }
    }
}

extension SpanAttribute {
    fileprivate var text: String? {
        switch self {
        case .string(let text): text
        case .int32(let number): "\(number)"
        case .int64(let number): "\(number)"
        default: nil
        }
    }
}
