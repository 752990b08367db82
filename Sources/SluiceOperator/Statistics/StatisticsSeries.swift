import Operations

/// Statistics over time: one value for each minute, hour or day, or for several of them together, oldest first.
package struct StatisticsSeries: Sendable {
    package struct Period: Sendable {
        /// The beginning, in milliseconds of server time.
        package var start: Int64
        package var statistics = Statistics()
    }

    /// The rows that count.
    package enum Rows: Sendable, Equatable {
        /// Rows of all names, or of the whole queue.
        case all
        /// Rows of one operation name.
        case name(String)
    }

    /// The numbers of minutes, hours or days that one period may have.
    private static let steps: [Int64] = [1, 2, 5, 15, 30]
    /// The most periods, so that a chart stays readable.
    private static let most: Int64 = 100

    /// The length of a period in milliseconds.
    package let length: Int64
    package private(set) var periods: [Period]
    /// The time of the newest read, in milliseconds of server time.
    package let time: Int64

    /// - Parameters:
    ///   - replies: the replies of all queues to the query.
    ///   - rows: the rows of the replies that count.
    package init(_ replies: [StatisticsReply], _ query: StatisticsQuery, _ rows: Rows = .all) {
        time = replies.map(\.time).max() ?? 0
        let numbers = query.numbers(at: time)
        let step = Self.steps.first { Int64(numbers.count) / $0 <= Self.most } ?? 60
        length = query.unit.milliseconds * step
        let first = numbers.lowerBound / step
        let count = numbers.isEmpty ? 0 : Int((numbers.upperBound - 1) / step - first) + 1
        periods = (0..<Int64(count)).map { [length] in Period(start: (first + $0) * length) }
        for row in replies.flatMap(\.rows) {
            if case .name(let name) = rows, row.name != name { continue }
            // Servers of a cluster may disagree about the time, so a row may lie outside.
            let index = Int(clamping: row.start / length - first)
            if periods.indices.contains(index) { periods[index].statistics.add(row.statistics) }
        }
    }

    /// All periods together.
    package var sum: Statistics { periods.reduce(into: Statistics()) { $0.add($1.statistics) } }
}
