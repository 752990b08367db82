import Operations

/// What happened in a queue in the last minutes, as its workers have counted it: a heartbeat late.
package struct RecentFigures: Sendable, Equatable {
    package var queue: String
    /// When they were read; milliseconds of server time.
    package var time: Int64
    /// Each minute, the oldest first; the last one is not over. Minutes in which nothing happened are empty.
    package var minutes: [Figures]
    /// Seconds from the begin of the first minute in which something happened.
    package var seconds: Double

    /// What heartbeats may be late by: rates of less time than this would be too high.
    private static let leastSeconds = 10.0

    /// - Parameter count: how many minutes, 1 to 1,440.
    package init(queue: String, _ reply: FiguresReply, minutes count: Int) {
        let length = FiguresQuery.Unit.minute.milliseconds
        let first = reply.time / length - Int64(count) + 1
        self.queue = queue
        time = reply.time
        minutes = [Figures](repeating: Figures(), count: count)
        var start = reply.time
        for row in reply.rows {
            let index = Int(row.start / length - first)
            guard minutes.indices.contains(index) else { continue }
            minutes[index].add(row.figures)
            start = min(start, row.start)
        }
        seconds = max(Self.leastSeconds, Double(reply.time - start) / 1000)
    }

    /// All minutes together, with the percentiles of wait and run.
    package var sum: Figures { minutes.reduce(into: Figures()) { $0.add($1) } }

    package var inPerSecond: Double { Double(sum.enqueued) / seconds }

    /// Operations that ended; attempts that another one follows do not count.
    package var outPerSecond: Double {
        let sum = sum
        return Double(sum.finished + sum.failed + sum.cancelled) / seconds
    }

    /// Attempts that failed.
    package var errorsPerSecond: Double {
        let sum = sum
        return Double(sum.failed + sum.retried) / seconds
    }

    /// How long it takes to run what waits. A burst that is over is no growth: input counts if some came in the last whole minute or since.
    package func drain(waiting: Int) -> DrainEstimate {
        if waiting <= 0 { return .empty }
        let isFed = minutes.suffix(2).contains { $0.enqueued > 0 }
        let net = outPerSecond - (isFed ? inPerSecond : 0)
        if net > 0 { return .seconds(Double(waiting) / net) }
        return isFed ? .grows : .stalled
    }
}

/// How long a queue takes to run what waits in it.
package enum DrainEstimate: Sendable, Equatable {
    /// Nothing waits.
    case empty
    case seconds(Double)
    /// At least as much comes in as goes out.
    case grows
    /// Nothing comes in and nothing goes out.
    case stalled
}

extension MonitorBroker {
    /// Reads the last minutes of a queue, with the one that is not over.
    ///
    /// - Parameter minutes: 1 to 1,440. Up to 60 are one small call.
    package func recentFigures(queue: String, minutes: Int) async throws -> RecentFigures {
        let reply = try await figures(FiguresQuery(.minute, count: minutes), queue: queue)
        return RecentFigures(queue: queue, reply, minutes: minutes)
    }
}
