import Operations
import Tracing

/// Makes a span of each enqueue and of each run, and connects them through the headers of the operation.
///
/// ```swift
/// InstrumentationSystem.bootstrap(tracer)
/// let configuration = SluiceConfiguration(.url(url), middleware: [OperationTracingMiddleware()])
/// ```
///
/// Names and attributes are those of OpenTelemetry's conventions for messaging: an enqueue is `send QUEUE` with kind
/// producer, a run is `process QUEUE` with kind consumer. The context of the enqueue travels in the headers, so the
/// operations that a body enqueues belong to the span of its run.
///
/// The span of a run begins a trace of its own, which has a link to the enqueue: it may run days later. The operation
/// of a schedule begins a trace of its own at each instant. Without a bootstrapped tracer, nothing is done.
public struct OperationTracingMiddleware: OperationMiddleware {
    /// How the span of a run refers to its enqueue.
    public enum RunSpans: Sendable, Hashable {
        /// A trace of its own, with a link to the enqueue.
        case linked
        /// A child of the enqueue, in the same trace.
        case children
    }

    /// The most operations of an enqueue whose unique key another operation holds that get a link, one read each.
    private static let mostJoined = 8

    private let own: (any Tracer)?
    private let runs: RunSpans

    /// Makes the middleware.
    ///
    /// - Parameters:
    ///   - runs: how the span of a run refers to its enqueue.
    ///   - tracer: makes the spans; nil = the tracer with which `InstrumentationSystem` was bootstrapped.
    public init(runs: RunSpans = .linked, tracer: (any Tracer)? = nil) {
        self.runs = runs
        own = tracer
    }

    /// nil = no tracer was bootstrapped.
    private var tracer: (any Tracer)? {
        if let own { return own }
        let tracer = InstrumentationSystem.tracer
        return tracer is NoOpTracer ? nil : tracer
    }

    /// Writes and reads contexts, also those of instruments beside the tracer.
    private var instrument: any Instrument { own ?? InstrumentationSystem.instrument }

    // MARK: Enqueues

    /// Makes the span of an enqueue, and puts its context into the headers of the operations.
    public func enqueue(_ request: EnqueueRequest, next: @escaping EnqueueRequest.Next) async throws
        -> [EnqueuedOperation]
    {
        guard let tracer else { return try await next(request) }
        return try await send(request, tracer, next)
    }

    private func send(
        _ request: EnqueueRequest,
        _ tracer: some Tracer,
        _ next: @escaping EnqueueRequest.Next
    ) async throws -> [EnqueuedOperation] {
        let parent = request.isDue ? ServiceContext.topLevel : ServiceContext.current ?? .topLevel
        let span = tracer.startSpan("send \(request.queue)", context: parent, ofKind: .producer)
        defer { span.end() }
        span.describe("send", queue: request.queue)
        span.describe(request.operations)
        var request = request
        for index in request.operations.indices {
            TraceHeaders.inject(span.context, into: &request.operations[index].headers, instrument)
        }
        do {
            let enqueued = try await ServiceContext.withValue(span.context) { [request] in try await next(request) }
            let joined = zip(request.operations, enqueued).filter { $0.id != $1.id }.prefix(Self.mostJoined)
            for (_, answer) in joined where span.isRecording && !Task.isCancelled { await link(answer, span) }
            return enqueued
        } catch {
            span.fail(error)
            throw error
        }
    }

    /// Links the span of an enqueue to the operation that holds the unique key.
    private func link(_ answer: EnqueuedOperation, _ span: some Span) async {
        guard let headers = try? await answer.headers() else { return }
        let context = TraceHeaders.extract(headers, instrument)
        guard !context.isEmpty else { return }
        span.addLink(SpanLink(context: context, attributes: ["messaging.message.id": "\(answer.id)"]))
    }

    // MARK: Runs

    /// Makes the span of a run.
    public func execute(_ context: OperationContext, next: @escaping ExecuteNext) async throws {
        guard let tracer else { return try await next(context) }
        try await process(context, tracer, next)
    }

    private func process(_ context: OperationContext, _ tracer: some Tracer, _ next: @escaping ExecuteNext) async throws
    {
        let creation = TraceHeaders.extract(context.headers, instrument)
        let parent = runs == .children ? creation : .topLevel
        let span = tracer.startSpan("process \(context.queue)", context: parent, ofKind: .consumer)
        if runs == .linked, !creation.isEmpty { span.addLink(SpanLink(context: creation, attributes: [:])) }
        if let origin = TraceHeaders.origin(of: context.headers, instrument) {
            span.addLink(SpanLink(context: origin, attributes: ["messaging.sluice.relation": "rerun"]))
        }
        span.describe("process", queue: context.queue)
        span.describe(context)
        context.notes?.whenEnded { end in
            span.attributes["messaging.sluice.state"] = end.state
            if ["dead", "retrying"].contains(end.state), let error = end.error { span.fail(error) }
            span.end()
        }
        var context = context
        TraceHeaders.inject(span.context, into: &context.headers, instrument)
        try await ServiceContext.withValue(span.context) { [context] in try await next(context) }
    }
}

extension Span {
    fileprivate func describe(_ operation: String, queue: String) {
        attributes["messaging.system"] = "sluice"
        attributes["messaging.operation.name"] = operation
        attributes["messaging.operation.type"] = operation
        attributes["messaging.destination.name"] = queue
    }

    /// One operation has an id, many have a count.
    fileprivate func describe(_ operations: [EnqueueRequest.Operation]) {
        if operations.count == 1 {
            attributes["messaging.message.id"] = "\(operations[0].id)"
        } else {
            attributes["messaging.batch.message_count"] = operations.count
        }
        if let name = operations.first?.name, operations.allSatisfy({ $0.name == name }) {
            attributes["messaging.sluice.name"] = name
        }
    }

    fileprivate func describe(_ run: OperationContext) {
        attributes["messaging.message.id"] = "\(run.id)"
        attributes["messaging.sluice.name"] = run.name
        attributes["messaging.sluice.attempt"] = run.attempt
        attributes["messaging.sluice.delivery"] = run.delivery
    }

    fileprivate func fail(_ error: any Error) {
        recordError(error)
        setStatus(SpanStatus(code: .error, message: error.text))
        attributes["error.type"] = (error as? any OperationFailing)?.failureType ?? String(describing: type(of: error))
    }
}
