import Operations

/// The statistics of a queue over time.
struct KeptStatistics {
    /// By the number of the minute.
    var minutes: [Int64: Statistics] = [:]
    /// By unit, number of the hour or day, and name; nil = all further names together.
    var named: [StatisticsQuery.Unit: [Int64: [String?: Statistics]]] = [:]
    /// How many enqueued operations the minutes contain.
    var enqueued: Int64 = 0
}

extension QueueModel {
    /// Adds the statistics that a worker has sent. A delta counts only if its number is above that of the last delta
    /// taken.
    ///
    /// - Returns: the sum of what was added, over all names.
    mutating func take(_ deltas: [StatisticsDelta], of worker: String) -> Statistics {
        var sum = Statistics()
        for delta in deltas {
            guard delta.number > workers[worker]?.statistics ?? 0 else { continue }
            for entry in delta.entries {
                add(entry, .hour)
                add(entry, .day)
                sum.add(entry.statistics)
            }
            workers[worker, default: HeldOperations()].statistics = delta.number
        }
        return sum
    }

    /// Adds the statistics of one name. A new name beyond `SluiceDefaults.statisticsNames` is counted together with all
    /// others.
    private mutating func add(_ entry: StatisticsDelta.Entry, _ unit: StatisticsQuery.Unit) {
        let number = now / unit.milliseconds
        var names = statistics.named[unit]?[number] ?? [:]
        let isFull = names.count - (names[nil] == nil ? 0 : 1) >= SluiceDefaults.statisticsNames
        let name = isFull && names[entry.name] == nil ? nil : entry.name
        names[name, default: Statistics()].add(entry.statistics)
        statistics.named[unit, default: [:]][number] = names
    }

    mutating func addMinute(_ counts: Statistics) {
        if counts.isEmpty { return }
        statistics.minutes[now / StatisticsQuery.Unit.minute.milliseconds, default: Statistics()].add(counts)
    }

    /// Returns how many operations were enqueued since a heartbeat last counted them.
    mutating func countEnqueued() -> Int64 {
        let enqueued = totals["enqueued"] ?? 0
        defer { statistics.enqueued = enqueued }
        return enqueued - statistics.enqueued
    }

    func statistics(_ query: StatisticsQuery) -> StatisticsReply {
        let rows = query.numbers(at: now).flatMap { number -> [StatisticsReply.Row] in
            let start = number * query.unit.milliseconds
            if query.unit == .minute {
                return statistics.minutes[number].map { [StatisticsReply.Row(start: start, name: nil, statistics: $0)] }
                    ?? []
            }
            return (statistics.named[query.unit]?[number] ?? [:]).map { name, statistics in
                StatisticsReply.Row(start: start, name: name, statistics: statistics)
            }
            .sorted { StatisticsReply.isBefore($0, $1) }
        }
        return StatisticsReply(time: now, rows: rows)
    }
}
