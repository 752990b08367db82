import Operations

/// The statistics of all operation names in a time span.
package struct NameStatistics: Sendable {
    package var rows: [NameStatisticsRow]
    /// The time of the newest read, in milliseconds of server time; nil = no queue was read.
    package var time: Int64?
    /// The unreachable nodes, whose queues are missing.
    package var absent: [AbsentNode]
}

extension StatisticsReader {
    /// The number of queues that are read at once. A queue may have 75 names in each hour.
    private static let atOnce = 8

    /// Reads the statistics by name of a time span, and of the earlier one if the span has one.
    package func names(_ span: StatisticsSpan) async throws -> NameStatistics {
        var rows = NameStatisticsRow.Merge(isCompared: span.before != nil)
        for start in stride(from: 0, to: queues.count, by: Self.atOnce) {
            let some = queues[start..<min(start + Self.atOnce, queues.count)]
            for (queue, reply) in try await read(span.query, of: some) { rows.add(reply, of: queue) }
            guard let before = span.before else { continue }
            for (_, reply) in try await read(before, of: some) { rows.addEarlier(reply) }
        }
        return NameStatistics(rows: rows.rows, time: rows.time, absent: absent)
    }

    private func read(
        _ query: StatisticsQuery,
        of queues: ArraySlice<String>
    ) async throws -> [(queue: String, reply: StatisticsReply)] {
        try await each(queues) { broker, queue in try await broker.statistics(query, queue: queue) }
    }

    /// Reads statistics over time, of all rows or of one name.
    package func series(
        _ query: StatisticsQuery,
        _ rows: StatisticsSeries.Rows = .all
    ) async throws -> StatisticsSeries {
        StatisticsSeries(try await read(query).map(\.reply), query, rows)
    }
}
