import CoreMetrics
import Logging
import Operations
import ServiceLifecycle
import Sluice

/// Reports the depth of queues and the state of their workers, read from Redis at an interval.
///
/// Run it in one process: each process that runs it reports the same numbers. Of a queue with more than 200 workers,
/// 200 are counted.
///
/// | name | labels | |
/// |---|---|---|
/// | `sluice_operations` | queue, state | operations that Redis has now; ended ones are kept for a while |
/// | `sluice_oldest_ready_seconds` | queue | how long the oldest ready operation has waited; 0 = none is ready |
/// | `sluice_queue_paused` | queue | 1 = paused |
/// | `sluice_workers` | queue, state | workers: `running`, `quiet`, `draining` or `lost` |
/// | `sluice_slots` | queue | slots of the live workers, which they share between their queues |
/// | `sluice_slots_busy` | queue | operations of the queue that these workers hold |
/// | `sluice_enqueued_total` | queue | operations that were enqueued since ever, by all clients |
/// | `sluice_recovered_total` | queue | operations that came back from lost workers |
/// | `sluice_snapshot_age_seconds` | | since the last complete look: alert on it, the others stand still in an outage |
/// | `sluice_build_info` | version | 1 |
///
/// ```swift
/// let group = ServiceGroup(services: [sluice, QueueMetrics(client: sluice)], logger: logger)
/// ```
public struct QueueMetrics: Service {
    private let client: SluiceClient
    private let queues: [String]?
    private let interval: Duration
    private let factory: any MetricsFactory
    private let logger: Logger

    /// Makes the collector.
    ///
    /// - Parameters:
    ///   - client: the client to read with.
    ///   - queues: the names of the queues; nil = all queues of the namespace.
    ///   - interval: the time between two looks, at least a second.
    ///   - factory: makes the metrics; nil = the factory with which `MetricsSystem` was bootstrapped.
    ///   - logger: gets a line when Redis does not answer, and when it answers again.
    public init(
        client: SluiceClient,
        queues: [String]? = nil,
        interval: Duration = .seconds(15),
        factory: (any MetricsFactory)? = nil,
        logger: Logger = Logger(label: "sluice.metrics")
    ) {
        self.client = client
        self.queues = queues
        self.interval = max(interval, .seconds(1))
        self.factory = factory ?? MetricsSystem.factory
        self.logger = logger
    }

    /// Collects until a graceful shutdown or a cancel of the task.
    public func run() async throws {
        await cancelWhenGracefulShutdown {
            var gauges = QueueGauges(factory)
            var isAway = false
            while !Task.isCancelled {
                do {
                    try await gauges.collect(client, queues)
                    if isAway { logger.notice("Redis answers again") }
                    isAway = false
                } catch  where !Task.isCancelled {
                    if !isAway { logger.warning("queues are not counted", metadata: ["error": "\(error.text)"]) }
                    isAway = true
                } catch {}
                gauges.age()
                try? await Task.sleep(for: interval)
            }
        }
    }
}

/// The gauges of queues, with the values of the last look.
struct QueueGauges {
    private let factory: any MetricsFactory
    private var meters: [String: Meter] = [:]
    private var counters: [String: (counter: Counter, total: Int64)] = [:]
    private var lastLook = ContinuousClock.now

    init(_ factory: any MetricsFactory) {
        self.factory = factory
        set("sluice_build_info", [("version", SluiceDefaults.version)], 1)
    }

    /// Looks at each queue once.
    mutating func collect(_ client: SluiceClient, _ queues: [String]?) async throws {
        let names: [String] = if let queues { queues } else { try await client.broker.queues() }
        var refusal: (any Error)?
        for name in names {
            // A node of a cluster that is away must not stop the numbers of the other queues.
            do { note(try await client.broker.snapshot(queue: name, executingRows: 0)) } catch { refusal = error }
        }
        if let refusal { throw refusal }
        lastLook = .now
    }

    /// Reports how old the values are.
    mutating func age() { set("sluice_snapshot_age_seconds", [], (ContinuousClock.now - lastLook) / .seconds(1)) }

    private mutating func note(_ snapshot: QueueSnapshot) {
        let queue = ("queue", snapshot.queue)
        for state in OperationState.allCases {
            set("sluice_operations", [queue, ("state", state.rawValue)], Double(snapshot.counts[state] ?? 0))
        }
        set("sluice_oldest_ready_seconds", [queue], Double(snapshot.oldestReadyMilliseconds ?? 0) / 1000)
        set("sluice_queue_paused", [queue], snapshot.paused ? 1 : 0)
        noteWorkers(of: snapshot)
        for name in ["enqueued", "recovered"] {
            count("sluice_\(name)_total", queue, snapshot.totals[name] ?? 0)
        }
    }

    /// Brings a counter to a total. A total that is smaller than before belongs to a queue that began anew.
    private mutating func count(_ name: String, _ queue: (String, String), _ total: Int64) {
        let key = "\(name)\n\(queue.1)"
        let (counter, before) = counters[key] ?? (Counter(label: name, dimensions: [queue], factory: factory), 0)
        counter.increment(by: max(0, total - before))
        counters[key] = (counter, total)
    }

    private mutating func noteWorkers(of snapshot: QueueSnapshot) {
        let queue = ("queue", snapshot.queue)
        let live = snapshot.liveWorkers
        let workers = live.compactMap { WorkerInfo($0.info) }
        set("sluice_slots", [queue], Double(workers.reduce(0) { $0 + $1.slots }))
        set("sluice_slots_busy", [queue], Double(live.reduce(0) { $0 + $1.inFlight }))
        var states: [String: Int] = ["lost": snapshot.workers.count - live.count]
        for worker in workers { states[worker.phase, default: 0] += 1 }
        // A state that no worker has any more is 0, and not what it was.
        for state in ["running", "quiet", "draining", "lost"] {
            set("sluice_workers", [queue, ("state", state)], Double(states[state] ?? 0))
        }
    }

    private mutating func set(_ name: String, _ labels: [(String, String)], _ value: Double) {
        let key = ([name] + labels.map(\.1)).joined(separator: "\n")
        let meter = meters[key] ?? Meter(label: name, dimensions: labels, factory: factory)
        meters[key] = meter
        meter.set(value)
    }
}
