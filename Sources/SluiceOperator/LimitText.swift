import Operations
import TerminalText

/// Formats the limits of a queue.
package enum LimitText {
    /// `concurrency 8, rate 100/s (burst 100), 3 executing; set 5 m ago by ann@host`
    package static func line(_ snapshot: QueueSnapshot, time: TimeStyle) -> String {
        let limits =
            [
                snapshot.limits.concurrency.map { "concurrency \(QuantityText.grouped($0))" },
                snapshot.limits.rate.map(text),
            ].compactMap { $0 } + ofKeys(snapshot.limits)
        if limits.isEmpty { return "no limits" }
        let executing = QuantityText.grouped(snapshot.counts[.executing] ?? 0)
        let line = limits.joined(separator: ", ") + ", \(executing) executing"
        guard let set = snapshot.limitsSet else { return line }
        return SafeText.line("\(line); set \(TimeText.format(set.at, time, now: snapshot.time)) by \(set.by)")
    }

    private static let shownKeys = 5

    /// The limit keys with the most ready operations, each on a line, after an empty line.
    package static func keys(_ snapshot: QueueSnapshot) -> [String] {
        guard !snapshot.limitKeys.isEmpty else { return [] }
        let rows = snapshot.limitKeys.prefix(shownKeys).map { row in
            let places = snapshot.limits.limit(of: row.key).concurrency.map { "/" + QuantityText.grouped($0) } ?? ""
            let nextStart = row.nextStartMilliseconds.map {
                "  out of rate, next start in \(DurationText.precise(.milliseconds($0)))"
            }
            return "key  \(row.key)  \(QuantityText.grouped(row.ready)) ready  "
                + "\(QuantityText.grouped(row.executing))\(places) executing\(nextStart ?? "")"
        }
        let others = snapshot.limitKeyCount - rows.count
        return [""] + rows + (others > 0 ? ["key  \(QuantityText.grouped(others)) others"] : [])
    }

    /// `key.concurrency 2`, `key:acme.weight 4`, `key:acme.rate 5/s (burst 5)`
    private static func ofKeys(_ limits: QueueLimits) -> [String] {
        let keys = [("key", limits.perKey)] + limits.keys.sorted { $0.key < $1.key }.map { ("key:" + $0.key, $0.value) }
        return keys.flatMap { name, limit in
            let numbers = [("concurrency", limit.concurrency), ("weight", limit.weight)].compactMap { word, number in
                number.map { "\(name).\(word) \(QuantityText.grouped($0))" }
            }
            return numbers + (limit.rate.map { ["\(name).\(text($0))"] } ?? [])
        }
    }

    /// `rate 100/s (burst 100)`
    package static func text(_ rate: QueueRate) -> String { "rate \(rate.words)" }
}
