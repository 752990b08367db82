/// The statistics of a period, for a queue or for one operation name in it, as workers counted them.
///
/// Only operations that ran are counted. Operations that were cancelled or expired while they waited are only in the
/// totals of the queue.
package struct Statistics: Sendable, Equatable {
    /// Operations that were enqueued; 0 for a name.
    package var enqueued: Int64 = 0
    /// Attempts that began.
    package var started: Int64 = 0
    /// Operations that finished.
    package var finished: Int64 = 0
    /// Operations that ended as dead.
    package var failed: Int64 = 0
    /// Attempts that failed and are followed by another one.
    package var retried: Int64 = 0
    /// Operations that were cancelled while they ran.
    package var cancelled: Int64 = 0
    /// The time from ready to the start of the body, for each attempt that began.
    package var wait = DurationHistogram()
    /// The run time of bodies, for each attempt that ended and was not given back.
    package var run = DurationHistogram()

    package init() {}

    package mutating func add(_ other: Statistics) {
        enqueued &+= other.enqueued
        started &+= other.started
        finished &+= other.finished
        failed &+= other.failed
        retried &+= other.retried
        cancelled &+= other.cancelled
        wait.add(other.wait)
        run.add(other.run)
    }

    /// Attempts that ended.
    package var ended: Int64 { finished + failed + retried + cancelled }

    /// The part of the ended attempts that failed; nil = no attempt ended.
    package var errorRate: Double? { ended > 0 ? Double(failed + retried) / Double(ended) : nil }

    package var isEmpty: Bool { self == Statistics() }
}

/// The statistics that a worker counted since its last delta, by operation name.
package struct StatisticsDelta: Sendable, Equatable {
    /// A number that grows with each delta of a worker for a queue, so that a repeated delta counts once.
    package var number: Int64
    /// At most `SluiceDefaults.statisticsNames` names, and one entry for all others.
    package var entries: [Entry]

    package struct Entry: Sendable, Equatable {
        /// The operation name; nil = all other names, and operations that cannot be read.
        package var name: String?
        package var statistics: Statistics

        package init(name: String?, statistics: Statistics) {
            self.name = name
            self.statistics = statistics
        }
    }

    package init(number: Int64, entries: [Entry]) {
        self.number = number
        self.entries = entries
    }
}

/// The statistics to read: a number of minutes, hours or days up to now.
package struct StatisticsQuery: Sendable, Equatable {
    package enum Unit: String, Sendable, CaseIterable {
        /// The whole queue by minute, stored for 24 hours.
        case minute
        /// Operation names by hour, stored for 48 hours.
        case hour
        /// Operation names by day, stored for 30 days.
        case day

        package var milliseconds: Int64 {
            switch self {
            case .minute: 60_000
            case .hour: 3_600_000
            case .day: 86_400_000
            }
        }

        /// The number of stored units, including the current one.
        package var kept: Int {
            switch self {
            case .minute: 1440
            case .hour: 48
            case .day: 30
            }
        }
    }

    package var unit: Unit
    /// How many to read, with the current one.
    package var count: Int
    /// How many of the newest to leave out.
    package var skip: Int

    package init(_ unit: Unit, count: Int, skip: Int = 0) {
        self.unit = unit
        self.count = count
        self.skip = max(0, skip)
    }

    /// Returns the numbers, since 1970, of the requested minutes, hours or days that are stored.
    package func numbers(at time: Int64) -> Range<Int64> {
        let now = time / unit.milliseconds
        let end = now + 1 - Int64(skip)
        let start = max(end - Int64(max(0, count)), now + 1 - Int64(unit.kept))
        return min(start, end)..<end
    }
}

/// The statistics of one queue, oldest first.
package struct StatisticsReply: Sendable, Equatable {
    package struct Row: Sendable, Equatable {
        /// The beginning of the minute, hour or day, in milliseconds of server time.
        package var start: Int64
        /// The operation name; nil = the whole queue for a minute, all other names for an hour or a day.
        package var name: String?
        package var statistics: Statistics

        package init(start: Int64, name: String?, statistics: Statistics) {
            self.start = start
            self.name = name
            self.statistics = statistics
        }
    }

    /// The time of the read, in milliseconds of server time.
    package var time: Int64
    /// The rows by time, then by name. A period without events has no row.
    package var rows: [Row]

    package init(time: Int64, rows: [Row]) {
        self.time = time
        self.rows = rows
    }

    /// Whether one row comes before another.
    package static func isBefore(_ left: Row, _ right: Row) -> Bool {
        (left.start, left.name ?? "") < (right.start, right.name ?? "")
    }

    /// The sum of all rows.
    package var sum: Statistics { rows.reduce(into: Statistics()) { $0.add($1.statistics) } }
}
