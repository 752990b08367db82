import Operations

/// Operations per second; nil = unknown.
package struct Rates: Sendable, Equatable {
    package var enqueued: Double?
    /// Finished, dead, cancelled or expired.
    package var ended: Double?
    /// Attempts that failed, whether retried or dead.
    package var failed: Double?

    package init(enqueued: Double? = nil, ended: Double? = nil, failed: Double? = nil) {
        self.enqueued = enqueued
        self.ended = ended
        self.failed = failed
    }

    /// Adds rates. A sum is unknown only if both rates are.
    package static func + (left: Self, right: Self) -> Self {
        func sum(_ path: KeyPath<Self, Double?>) -> Double? {
            guard let first = left[keyPath: path] else { return right[keyPath: path] }
            return first + (right[keyPath: path] ?? 0)
        }
        return Rates(enqueued: sum(\.enqueued), ended: sum(\.ended), failed: sum(\.failed))
    }
}

/// The three totals from which rates are computed.
package struct FlowTotals: Sendable, Equatable {
    package var enqueued: Int64
    package var ended: Int64
    package var failed: Int64

    package init(_ totals: [String: Int64]) {
        func sum(_ names: String...) -> Int64 { names.reduce(0) { $0 + (totals[$1] ?? 0) } }
        enqueued = sum("enqueued")
        ended = sum("finished", "dead", "cancelled", "expired")
        failed = sum("retried", "dead")
    }

    package func isBehind(_ other: Self) -> Bool {
        enqueued < other.enqueued || ended < other.ended || failed < other.failed
    }
}

/// Computes rates from the totals of two snapshots of one queue, by server time.
///
/// The older snapshot is at least `window` old if possible, so that rates do not jump with frequent snapshots. Across a
/// gap the rate is the average.
package struct RateMeter: Sendable {
    package static let windowMilliseconds: Int64 = 2_000

    private var samples: [(time: Int64, totals: FlowTotals)] = []

    /// Takes a snapshot. Starts again if the clock or a total has decreased (another server, or a restored one).
    package mutating func add(_ totals: FlowTotals, at time: Int64) {
        if let last = samples.last {
            if time == last.time { samples.removeLast() }
            if time < last.time || totals.isBehind(last.totals) { samples.removeAll() }
        }
        samples.append((time, totals))
        while samples.count > 2, samples[1].time <= time - Self.windowMilliseconds { samples.removeFirst() }
    }

    package var rates: Rates {
        guard let first = samples.first, let last = samples.last, last.time > first.time else { return Rates() }
        let seconds = Double(last.time - first.time) / 1000
        return Rates(
            enqueued: Double(last.totals.enqueued - first.totals.enqueued) / seconds,
            ended: Double(last.totals.ended - first.totals.ended) / seconds,
            failed: Double(last.totals.failed - first.totals.failed) / seconds
        )
    }
}

/// The meters of all queues of a namespace.
package struct NamespaceRates: Sendable {
    private var meters: [String: RateMeter] = [:]

    package init() {}

    package mutating func add(_ snapshot: NamespaceSnapshot) {
        let names = Set(snapshot.queues.map(\.queue))
        meters = meters.filter { names.contains($0.key) }
        for queue in snapshot.queues {
            meters[queue.queue, default: RateMeter()].add(FlowTotals(queue.totals), at: queue.time)
        }
    }

    package subscript(queue: String) -> Rates { meters[queue]?.rates ?? Rates() }

    /// The sum of all queues.
    package var sum: Rates { meters.values.reduce(Rates()) { $0 + $1.rates } }
}
