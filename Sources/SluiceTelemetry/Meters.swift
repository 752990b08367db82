import Metrics
import Operations
import Synchronization

/// Counters and timers, each made once: a factory may take long to make one.
final class Meters: Sendable {
    fileprivate struct Key: Hashable {
        let name: String
        let labels: [String]
    }

    fileprivate struct State {
        var counters: [Key: Counter] = [:]
        var timers: [Key: Timer] = [:]
        var gauges: [Key: Gauge] = [:]
        /// The values that a label has had, by the label and what bounds it.
        var known: [Key: Set<String>] = [:]
    }

    /// Stands for the values of a label beyond its limit.
    fileprivate static let other = "other"
    private static let headerValues = 100

    /// False without a backend, so that nothing is counted.
    let isOn: Bool
    private let headers: [String]
    private let factory: any MetricsFactory
    private let state = Mutex(State())

    init(headers: [String], factory: any MetricsFactory) {
        self.headers = headers
        self.factory = factory
        isOn = !(factory is NOOPMetricsHandler)
    }

    func count(_ name: String, _ labels: [(String, String)], _ number: Int) {
        guard number > 0 else { return }
        let counter = state.withLock { state in
            let key = Key(name: name, labels: labels.map { "\($0.0)=\($0.1)" })
            if let known = state.counters[key] { return known }
            let new = Counter(label: name, dimensions: labels, factory: factory)
            state.counters[key] = new
            return new
        }
        counter.increment(by: number)
    }

    func time(_ name: String, _ labels: [(String, String)], since begin: ContinuousClock.Instant) {
        time(name, labels, .now - begin)
    }

    func time(_ name: String, _ labels: [(String, String)], _ duration: Duration) {
        let timer = state.withLock { state in
            let key = Key(name: name, labels: labels.map { "\($0.0)=\($0.1)" })
            if let known = state.timers[key] { return known }
            let new = Timer(label: name, dimensions: labels, preferredDisplayUnit: .seconds, factory: factory)
            state.timers[key] = new
            return new
        }
        timer.record(duration: duration)
    }

    func set(_ name: String, _ labels: [(String, String)], _ value: Double) {
        let gauge = state.withLock { state in
            let key = Key(name: name, labels: labels.map { "\($0.0)=\($0.1)" })
            if let known = state.gauges[key] { return known }
            let new = Gauge(label: name, dimensions: labels, factory: factory)
            state.gauges[key] = new
            return new
        }
        gauge.record(value)
    }

    /// The labels of a run: the queue, the name, and the headers that were asked for.
    func labels(of run: OperationContext) -> [(String, String)] {
        state.withLock { state in
            var labels = [("queue", run.queue)]
            labels.append(("name", state.bounded(run.name, of: "name", in: run.queue, SluiceDefaults.statisticsNames)))
            for header in headers {
                let value = run.headers[header] ?? ""
                labels.append((header, state.bounded(value, of: header, in: "", Self.headerValues)))
            }
            return labels
        }
    }
}

extension Meters.State {
    /// Returns the value of a label, or `other` beyond its limit.
    fileprivate mutating func bounded(_ value: String, of label: String, in place: String, _ limit: Int) -> String {
        let key = Meters.Key(name: label, labels: [place])
        if known[key]?.contains(value) == true { return value }
        guard (known[key]?.count ?? 0) < limit else { return Meters.other }
        known[key, default: []].insert(value)
        return value
    }
}
