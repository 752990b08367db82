import Operations

/// The statistics of the last hour, for the overview and the queues screen.
///
/// Workers count and send the numbers with a heartbeat, so the last seconds may be missing.
package struct StatisticsBoard: Sendable {
    /// The number of minutes to read.
    package static let minutes = 60
    /// The number of minutes for percentiles and error rates, including the current minute.
    package static let recentMinutes = 5

    /// The statistics of one queue.
    package struct Queue: Sendable {
        /// The statistics of the recent minutes.
        package var recent = Statistics()
        /// The recent minutes one by one, for rates; nil = not read.
        package var minutes: RecentStatistics?
        /// Ended attempts in each of the last minutes, oldest first.
        package var ended = [Double](repeating: 0, count: StatisticsBoard.minutes)

        package init() {}
    }

    package private(set) var queues: [String: Queue] = [:]
    /// All queues together.
    package private(set) var sum = Queue()

    package init(_ replies: [String: StatisticsReply]) {
        for (name, reply) in replies {
            var queue = Queue()
            let newest = reply.time / 60_000
            for row in reply.rows {
                let age = Int(clamping: newest - row.start / 60_000)
                guard (0..<Self.minutes).contains(age) else { continue }
                queue.ended[Self.minutes - 1 - age] += Double(row.statistics.ended)
                if age < Self.recentMinutes { queue.recent.add(row.statistics) }
            }
            queue.minutes = RecentStatistics(queue: name, reply, minutes: Self.recentMinutes)
            queues[name] = queue
            sum.recent.add(queue.recent)
            for minute in 0..<Self.minutes { sum.ended[minute] += queue.ended[minute] }
        }
    }

    /// Estimates how long a queue needs to run its waiting operations; nil = no statistics were read.
    package func drain(_ queue: QueueSnapshot) -> DrainEstimate? {
        queues[queue.queue]?.minutes.map { $0.drain(queue) }
    }

    /// Sums values into at most `count` columns of equal length, oldest first.
    package static func columns(_ values: [Double], count: Int) -> [Double] {
        guard count > 0, count < values.count else { return values }
        let length = (values.count + count - 1) / count
        return stride(from: 0, to: values.count, by: length).map { start in
            values[start..<min(start + length, values.count)].reduce(0, +)
        }
    }
}

extension MonitorBroker {
    /// Reads the statistics of several queues, all at once over the pipelined connection.
    package func statistics(queues: [String], _ query: StatisticsQuery) async throws -> [String: StatisticsReply] {
        try await withThrowingTaskGroup(of: (String, StatisticsReply).self) { group in
            for queue in queues { group.addTask { (queue, try await statistics(query, queue: queue)) } }
            return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
    }
}
