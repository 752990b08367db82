import Operations
import SluiceOperator
import TerminalText

/// One line of `stat`: `12:04:31 ready 1204 exec 24 fail 7 in/s 212 out/s 208`.
///
/// `fail` counts operations that failed and will be retried.
package struct StatLine: Sendable {
    package let snapshot: NamespaceSnapshot
    package let rates: Rates

    package init(_ snapshot: NamespaceSnapshot, rates: Rates) {
        self.snapshot = snapshot
        self.rates = rates
    }

    package var text: String {
        let counts = snapshot.counts
        func count(_ state: OperationState) -> String { snapshot.queues.isEmpty ? "–" : "\(counts[state] ?? 0)" }
        let time = snapshot.time.map { TimeText.clock($0) } ?? "--:--:--"
        return "\(time) ready \(count(.ready)) exec \(count(.executing)) fail \(count(.retrying)) "
            + "in/s \(QuantityText.rate(rates.enqueued)) out/s \(QuantityText.rate(rates.ended))"
    }

    /// The final counts: `12:04:31 ready 0, executing 0, finished 39, dead 1, cancelled 1, expired 0`.
    package var summary: String {
        let states: [OperationState] = [.ready, .executing, .finished, .dead, .cancelled, .expired]
        let parts = states.map { "\($0.rawValue) \(QuantityText.grouped(snapshot.counts[$0] ?? 0))" }
        return ([snapshot.time.map { TimeText.clock($0) }].compactMap { $0 } + [parts.joined(separator: ", ")])
            .joined(separator: " ")
    }

    /// The stats object with rates.
    package func json(namespace: String) -> JSONValue {
        guard var object = StatsJSON.object(snapshot, namespace: namespace).objectValue else { return .null }
        object["rates"] = [
            "enqueuedPerSecond": JSONValue(rates.enqueued), "endedPerSecond": JSONValue(rates.ended),
            "failedPerSecond": JSONValue(rates.failed),
        ]
        return .object(object)
    }
}
