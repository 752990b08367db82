import Operations
import TerminalText

/// The statistics of a queue over the last minutes, counted by its workers and delayed by up to a heartbeat.
package struct RecentStatistics: Sendable, Equatable {
    package var queue: String
    /// When the statistics were read; milliseconds of server time.
    package var time: Int64
    /// The statistics of each minute, oldest first; the last minute is not over. Minutes without activity are empty.
    package var minutes: [Statistics]
    /// Seconds since the beginning of the first minute with activity.
    package var seconds: Double

    /// The shortest time for a rate. Heartbeats may be this late, so that a shorter time would give too high rates.
    private static let leastSeconds = 10.0

    /// - Parameter count: how many minutes, 1 to 1,440.
    package init(queue: String, _ reply: StatisticsReply, minutes count: Int) {
        let length = StatisticsQuery.Unit.minute.milliseconds
        let first = reply.time / length - Int64(count) + 1
        self.queue = queue
        time = reply.time
        minutes = [Statistics](repeating: Statistics(), count: count)
        var start = reply.time
        for row in reply.rows {
            let index = Int(row.start / length - first)
            guard minutes.indices.contains(index) else { continue }
            minutes[index].add(row.statistics)
            start = min(start, row.start)
        }
        seconds = max(Self.leastSeconds, Double(reply.time - start) / 1000)
    }

    /// All minutes together, with the percentiles of wait and run.
    package var sum: Statistics { minutes.reduce(into: Statistics()) { $0.add($1) } }

    package var inPerSecond: Double { Double(sum.enqueued) / seconds }

    /// Operations that ended, per second. Failed attempts with a retry do not count.
    package var outPerSecond: Double {
        let sum = sum
        return Double(sum.finished + sum.failed + sum.cancelled) / seconds
    }

    /// Failed attempts per second, with or without a retry.
    package var errorsPerSecond: Double {
        let sum = sum
        return Double(sum.failed + sum.retried) / seconds
    }

    /// Estimates how long the queue needs to run its waiting operations.
    ///
    /// Input counts only if operations came in the current or the previous minute, so that a burst that is over is no
    /// growth.
    package func drain(waiting: Int) -> DrainEstimate {
        if waiting <= 0 { return .empty }
        let isFed = minutes.suffix(2).contains { $0.enqueued > 0 }
        let net = outPerSecond - (isFed ? inPerSecond : 0)
        if net > 0 { return .seconds(Double(waiting) / net) }
        return isFed ? .grows : .stalled
    }

    /// Estimates how long a queue needs to run its waiting operations.
    ///
    /// The rates of the last minutes say nothing about a queue whose operations cannot start now.
    package func drain(_ queue: QueueSnapshot) -> DrainEstimate {
        let open = queue.waiting + queue.lostOperations
        if open > 0, QueueCondition.all(queue).contains(where: \.stopsQueue) { return .stalled }
        // Operations that no live worker handles wait on, whatever else goes out.
        if queue.unhandledCount > 0, queue.unhandledCount >= queue.counts[.ready] ?? 0 { return .stalled }
        let estimate = drain(waiting: queue.waiting)
        return estimate == .stalled && queue.counts[.ready] ?? 0 == 0 ? .retries : estimate
    }
}

/// The time that a queue needs to run its waiting operations.
package enum DrainEstimate: Sendable, Equatable {
    /// Nothing waits.
    case empty
    case seconds(Double)
    /// At least as much comes in as goes out.
    case grows
    /// Nothing goes out.
    case stalled
    /// Only failed operations wait, until they are retried.
    case retries
}

extension DrainEstimate {
    package var text: String {
        switch self {
        case .empty: "–"
        case .seconds(let seconds): seconds < 1 ? "<1s" : DurationText.short(.seconds(min(seconds, 1e10)))
        case .grows, .stalled, .retries: trend
        }
    }

    /// Seconds until the queue is empty; nil = not known, or the queue does not shrink.
    package var seconds: Double? {
        switch self {
        case .empty: 0
        case .seconds(let seconds): seconds
        case .grows, .stalled, .retries: nil
        }
    }

    /// Whether the operations do not become fewer although they could start now.
    package var needsAttention: Bool { self == .grows || self == .stalled }

    package var trend: String {
        switch self {
        case .empty: "empty"
        case .seconds: "shrinks"
        case .grows: "grows"
        case .stalled: "stalled"
        case .retries: "retries"
        }
    }
}

extension MonitorBroker {
    /// Reads the statistics of the last minutes of a queue, including the current minute.
    ///
    /// - Parameter minutes: 1 to 1,440. Up to 60 are one small call.
    package func recentStatistics(queue: String, minutes: Int) async throws -> RecentStatistics {
        let reply = try await statistics(StatisticsQuery(.minute, count: minutes), queue: queue)
        return RecentStatistics(queue: queue, reply, minutes: minutes)
    }
}
