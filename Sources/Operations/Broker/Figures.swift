/// What happened in a time: of a queue, or of one operation name in it. Workers count it.
///
/// It has what workers ran. What ended without running (cancelled or expired while it waited) is only in the totals of the queue.
package struct Figures: Sendable, Equatable {
    /// Operations that came in; 0 for a name.
    package var enqueued: Int64 = 0
    /// Attempts that began.
    package var started: Int64 = 0
    /// Operations that ended well.
    package var finished: Int64 = 0
    /// Operations that are dead.
    package var failed: Int64 = 0
    /// Attempts that failed and that another one follows.
    package var retried: Int64 = 0
    /// Operations that were cancelled while they ran.
    package var cancelled: Int64 = 0
    /// From the time an operation was ready to the begin of its body, for each attempt that began.
    package var wait = DurationHistogram()
    /// How long bodies ran, for each attempt that ended, and was not given back.
    package var run = DurationHistogram()

    package init() {}

    package mutating func add(_ other: Figures) {
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

    /// The part of the attempts that ended which failed; nil = none ended.
    package var errorRate: Double? { ended > 0 ? Double(failed + retried) / Double(ended) : nil }

    package var isEmpty: Bool { self == Figures() }
}

/// What a worker has counted since it last said so, by operation name.
package struct FiguresDelta: Sendable, Equatable {
    /// Grows with each delta of a worker for a queue: one that was sent before, and whose answer was lost, counts once.
    package var number: Int64
    /// At most `Defaults.figureNames` and the others.
    package var entries: [Entry]

    package struct Entry: Sendable, Equatable {
        /// nil = all other names, and what cannot be read.
        package var name: String?
        package var figures: Figures

        package init(name: String?, figures: Figures) {
            self.name = name
            self.figures = figures
        }
    }

    package init(number: Int64, entries: [Entry]) {
        self.number = number
        self.entries = entries
    }
}

/// Which figures to read: so many minutes, hours or days up to now.
package struct FiguresQuery: Sendable, Equatable {
    package enum Unit: String, Sendable, CaseIterable {
        /// Of the whole queue, for 24 hours.
        case minute
        /// By operation name, for 48 hours.
        case hour
        /// By operation name, for 30 days.
        case day

        package var milliseconds: Int64 {
            switch self {
            case .minute: 60_000
            case .hour: 3_600_000
            case .day: 86_400_000
            }
        }

        /// How many are kept, with the one that is not over.
        package var kept: Int {
            switch self {
            case .minute: 1440
            case .hour: 48
            case .day: 30
            }
        }
    }

    package var unit: Unit
    /// How many, with the one that is not over.
    package var count: Int
    /// How many of the newest are left out.
    package var skip: Int

    package init(_ unit: Unit, count: Int, skip: Int = 0) {
        self.unit = unit
        self.count = count
        self.skip = max(0, skip)
    }

    /// The numbers, since 1970, of the minutes, hours or days that are kept and asked for.
    package func numbers(at time: Int64) -> Range<Int64> {
        let now = time / unit.milliseconds
        let end = now + 1 - Int64(skip)
        let start = max(end - Int64(max(0, count)), now + 1 - Int64(unit.kept))
        return min(start, end)..<end
    }
}

/// Figures of one queue, the oldest first.
package struct FiguresReply: Sendable, Equatable {
    package struct Row: Sendable, Equatable {
        /// When the minute, hour or day began; milliseconds of server time.
        package var start: Int64
        /// nil = the whole queue in a minute; all other names in an hour or a day.
        package var name: String?
        package var figures: Figures

        package init(start: Int64, name: String?, figures: Figures) {
            self.start = start
            self.name = name
            self.figures = figures
        }
    }

    /// When they were read; milliseconds of server time.
    package var time: Int64
    /// In the order of time and then of names. What has no row did not happen.
    package var rows: [Row]

    package init(time: Int64, rows: [Row]) {
        self.time = time
        self.rows = rows
    }

    /// The order of rows.
    package static func isBefore(_ left: Row, _ right: Row) -> Bool {
        (left.start, left.name ?? "") < (right.start, right.name ?? "")
    }

    /// All of it together.
    package var sum: Figures { rows.reduce(into: Figures()) { $0.add($1.figures) } }
}
