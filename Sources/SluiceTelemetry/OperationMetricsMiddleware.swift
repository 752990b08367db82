import CoreMetrics
import Operations

/// Counts and times the enqueues of a client and the runs of a worker.
///
/// ```swift
/// MetricsSystem.bootstrap(factory)
/// let configuration = SluiceConfiguration(.url(url), middleware: [OperationMetricsMiddleware()])
/// ```
///
/// | name | labels | |
/// |---|---|---|
/// | `sluice_started_total` | queue, name | bodies that began |
/// | `sluice_ended_total` | queue, name, state | runs by their outcome |
/// | `sluice_wait_seconds` | queue, name | from ready to the begin of the body |
/// | `sluice_run_seconds` | queue, name | the body |
/// | `sluice_lease_lost_total` | queue | operations that this worker lost while their bodies ran |
/// | `sluice_reconnects_total` | queue | Redis answers the heartbeats again after one had failed |
/// | `sluice_outbox_seconds` | queue | how long ends have waited for Redis; 0 = none waits |
///
/// The state is `finished`, `dead`, `cancelled`, `retrying` (another attempt follows), `snoozed`, `yielded` or
/// `returned` (another worker runs it).
///
/// Beside these are the names of OpenTelemetry's conventions for messaging: `messaging.client.sent.messages`,
/// `messaging.client.operation.duration` (the call of Redis), `messaging.client.consumed.messages` and
/// `messaging.process.duration`.
///
/// A queue has at most 75 names; operations of others count as `other`. No label names an operation, a worker or a tag,
/// so the number of series does not grow with the work. Redis alone knows the depth of queues: see
/// `QueueMetrics`.
public final class OperationMetricsMiddleware: OperationMiddleware {
    private let meters: Meters

    /// Makes the middleware.
    ///
    /// - Parameters:
    ///   - headers: names of headers whose values become labels, for example `tenant`. Each has at most 100 values;
    ///     others count as `other`.
    ///   - factory: makes the metrics; nil = the factory with which `MetricsSystem` was bootstrapped.
    public init(headers: [String] = [], factory: (any MetricsFactory)? = nil) {
        meters = Meters(headers: headers, factory: factory ?? MetricsSystem.factory)
    }

    /// Counts and times an enqueue.
    public func enqueue(_ request: EnqueueRequest, next: @escaping EnqueueRequest.Next) async throws
        -> [EnqueuedOperation]
    {
        guard meters.isOn else { return try await next(request) }
        let begin = ContinuousClock.now
        let client = [("messaging.system", "sluice"), ("messaging.destination.name", request.queue)]
        // Backends may refuse a metric whose labels differ in number, so a success has the label as well.
        let time = { [meters] (type: String) in
            meters.time("messaging.client.operation.duration", client + [("error.type", type)], since: begin)
        }
        do {
            let enqueued = try await next(request)
            time("")
            meters.count("messaging.client.sent.messages", client, enqueued.count)
            return enqueued
        } catch {
            time(String(describing: type(of: error)))
            throw error
        }
    }

    /// Counts and times a run.
    public func execute(_ context: OperationContext, next: @escaping ExecuteNext) async throws {
        guard meters.isOn else { return try await next(context) }
        let begin = ContinuousClock.now
        let labels = meters.labels(of: context)
        let client = [("messaging.system", "sluice"), ("messaging.destination.name", context.queue)]
        meters.count("sluice_started_total", labels, 1)
        meters.count("messaging.client.consumed.messages", client, 1)
        if let waited = context.notes?.waited { meters.time("sluice_wait_seconds", labels, waited) }
        context.notes?.whenEnded { [meters] end in
            meters.time("sluice_run_seconds", labels, since: begin)
            meters.time("messaging.process.duration", client, since: begin)
            meters.count("sluice_ended_total", labels + [("state", end.state)], 1)
        }
        try await next(context)
    }
}

extension OperationMetricsMiddleware: RuntimeObserving {
    package func lostLease(queue: String) { meters.count("sluice_lease_lost_total", [("queue", queue)], 1) }

    package func reconnected(queue: String) { meters.count("sluice_reconnects_total", [("queue", queue)], 1) }

    package func outboxWaits(_ time: Duration, queue: String) {
        guard meters.isOn else { return }
        meters.set("sluice_outbox_seconds", [("queue", queue)], time / .seconds(1))
    }
}
