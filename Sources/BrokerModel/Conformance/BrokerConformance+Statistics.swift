import Operations

extension BrokerConformance {
    /// Statistics over time.
    static let keepingStatistics: [ConformanceCheck] = [
        ConformanceCheck("The statistics of a heartbeat count in its minute, hour and day") { bench in
            let worker = try bench.worker()
            let start = try await bench.toNextDay()
            try bench.beat(worker, statistics: bench.delta(1, ["mail": 2, "sleep": 1]))
            try await bench.advance(.seconds(61))
            try bench.beat(worker, statistics: bench.delta(2, ["mail": 3]))
            try bench.expect(
                try await bench.statistics(.minute, 2),
                [bench.row(start, nil, 3), bench.row(start + 60_000, nil, 3)],
                "by minute"
            )
            let names = [bench.row(start, "mail", 5), bench.row(start, "sleep", 1)]
            try bench.expect(try await bench.statistics(.hour, 1), names, "by hour")
            try bench.expect(try await bench.statistics(.day, 1), names, "by day")
            let last = [bench.row(start + 60_000, nil, 3)]
            try bench.expect(try await bench.statistics(.minute, 1), last, "the last minute")
            let before = StatisticsQuery(.minute, count: 1, skip: 1)
            let reply = try await bench.broker.statistics(before, queue: bench.queue)
            try bench.expect(reply.rows, [bench.row(start, nil, 3)], "the minute before")
            try bench.expect(reply.time, start + 61_000, "the time")
        },
        ConformanceCheck("Statistics that are sent twice count once") { bench in
            let worker = try bench.worker()
            for _ in 0..<2 { try bench.beat(worker, statistics: bench.delta(1, ["mail": 2])) }
            try bench.beat(worker, statistics: bench.delta(2, ["mail": 1]))
            try bench.beat(worker, statistics: bench.delta(1, ["mail": 2]))
            try bench.expect(try await bench.statistics(.hour, 1).map(\.statistics.finished), [3], "by hour")
            try bench.expect(try await bench.statistics(.minute, 1).map(\.statistics.finished), [3], "by minute")
        },
        ConformanceCheck("Each worker numbers its own statistics") { bench in
            for _ in 0..<2 { try bench.beat(WorkerID(), statistics: bench.delta(1, ["mail": 2])) }
            try bench.expect(try await bench.statistics(.day, 1).map(\.statistics.finished), [4], "by day")
        },
        ConformanceCheck("A retiring worker leaves its last statistics; those sent before count once") { bench in
            let worker = try bench.worker()
            let last = bench.delta(1, ["mail": 2])
            try bench.beat(worker, statistics: last)
            try await bench.broker.retire(
                worker: worker,
                statistics: [last, bench.delta(2, ["mail": 5])],
                queue: bench.queue
            )
            try bench.expect(try await bench.statistics(.minute, 1).map(\.statistics.finished), [7], "by minute")
        },
        ConformanceCheck("Statistics of names beyond the limit are counted together") { bench in
            let worker = try bench.worker()
            let names = (0..<SluiceDefaults.statisticsNames).map { "name-\($0 + 100)" }
            let first = Dictionary(uniqueKeysWithValues: names.map { ($0, Int64(1)) })
            try bench.beat(worker, statistics: bench.delta(1, first))
            try bench.beat(worker, statistics: bench.delta(2, ["another": 2, "further": 3, names[0]: 4]))
            let rows = try await bench.statistics(.hour, 1)
            try bench.expect(rows.count, SluiceDefaults.statisticsNames + 1, "the rows")
            try bench.expect(rows.first, bench.row(rows[0].start, nil, 5), "the others")
            try bench.expect(rows.filter { $0.name == names[0] }.map(\.statistics.finished), [5], "a name of before")
            try await bench.toNextDay()
            try bench.beat(worker, statistics: bench.delta(3, ["another": 2]))
            try bench.expect(try await bench.statistics(.hour, 1).map(\.name), ["another"], "the names of a new hour")
        },
        ConformanceCheck("Each heartbeat counts the operations enqueued since the one before") { bench in
            let worker = try bench.worker()
            try await bench.toNextDay()
            let ids = try await bench.enqueue(3)
            try bench.beat(worker)
            let known = NewOperation(id: ids[0], tracked: true, envelope: BrokerBench.envelope())
            _ = try await bench.broker.enqueue([known], queue: bench.queue)
            try bench.beat(worker)
            try bench.expect(try await bench.statistics(.minute, 1).map(\.statistics.enqueued), [3], "the first minute")
            try await bench.advance(.seconds(60))
            try await bench.enqueue(2)
            try bench.beat(WorkerID(), statistics: bench.delta(1, ["mail": 1]))
            try bench.beat(worker)
            try bench.expect(try await bench.statistics(.minute, 2).map(\.statistics.enqueued), [3, 2], "both minutes")
            try bench.expect(try await bench.statistics(.hour, 1).map(\.statistics.enqueued), [0], "the name")
        },
        ConformanceCheck("Statistics are kept for 24 hours by minute, 48 hours by hour and 30 days by day") { bench in
            let worker = try bench.worker()
            try await bench.toNextDay()
            try bench.beat(worker, statistics: bench.delta(1, ["mail": 1]))
            for unit in StatisticsQuery.Unit.allCases {
                let all = unit.kept
                let others = all - 1
                let length = Duration.milliseconds(unit.milliseconds)
                try await bench.advance(length * others)
                try bench.expect(try await bench.statistics(unit, all).count, 1, "the last \(unit)")
                try bench.expect(try await bench.statistics(unit, others).count, 0, "fewer")
                try await bench.advance(length)
                try bench.expect(try await bench.statistics(unit, all + 1).count, 0, "a \(unit) later")
                try await bench.advance(length * -all)
            }
        },
    ]
}

extension BrokerBench {
    /// Moves the clock to the start of the next day and returns that instant in milliseconds.
    @discardableResult
    func toNextDay() async throws -> Int64 {
        let now = try await snapshot().time
        let day = StatisticsQuery.Unit.day.milliseconds
        let next = (now / day + 1) * day
        try await advance(.milliseconds(next - now))
        return next
    }

    /// Makes a delta of statistics that counts finished operations by name.
    fileprivate func delta(_ number: Int64, _ finished: [String: Int64]) -> StatisticsDelta {
        let entries = finished.sorted { $0.key < $1.key }.map { name, count in
            StatisticsDelta.Entry(name: name, statistics: counts(count))
        }
        return StatisticsDelta(number: number, entries: entries)
    }

    fileprivate func row(_ start: Int64, _ name: String?, _ finished: Int64) -> StatisticsReply.Row {
        StatisticsReply.Row(start: start, name: name, statistics: counts(finished))
    }

    private func counts(_ finished: Int64) -> Statistics {
        var statistics = Statistics()
        statistics.finished = finished
        for _ in 0..<finished { statistics.run.add(microseconds: 5000) }
        return statistics
    }

    fileprivate func statistics(_ unit: StatisticsQuery.Unit, _ count: Int) async throws -> [StatisticsReply.Row] {
        try await broker.statistics(StatisticsQuery(unit, count: count), queue: queue).rows
    }
}
