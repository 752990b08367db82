import Operations
import RedisClient

extension RedisBroker {
    package func statistics(_ query: StatisticsQuery, queue: String) async throws -> StatisticsReply {
        var reply = StatisticsReply(time: 0, rows: [])
        var (skip, left) = (query.skip, min(query.count, query.unit.kept - query.skip))
        repeat {
            var arguments = arguments(queue)
            let count = min(max(0, left), query.unit.atOnce)
            arguments.append(String(query.unit.rawValue.prefix(1)))
            arguments.append(skip)
            arguments.append(count)
            arguments.append(reply.time == 0 ? "" : String(reply.time))
            let values = try await read(.statistics, arguments).array ?? []
            guard let time = values.first?.int else {
                throw OperationsError(.malformed, "the reply of statistics cannot be read; run: sluice doctor")
            }
            reply.time = Int64(time)
            reply.rows += Array(values.dropFirst()).chunks(of: 3).compactMap { StatisticsReply.Row($0, query.unit) }
            (skip, left) = (skip + count, left - count)
        } while left > 0
        reply.rows.sort { StatisticsReply.isBefore($0, $1) }
        return reply
    }

    package func builds(queue: String) async throws -> [BuildSight] {
        let reply = try await read(.builds, arguments(queue)).array ?? []
        return reply.chunks(of: 2).reversed().compactMap { values in
            let values = Array(values)
            guard values.count == 2, let build = values[0].string, let time = values[1].int else { return nil }
            return BuildSight(build, firstSeenAt: Int64(time))
        }
    }
}

extension StatisticsQuery.Unit {
    /// The most minutes, hours or days that one call reads.
    fileprivate var atOnce: Int { self == .minute ? 480 : 8 }
}

extension StatisticsReply.Row {
    /// The name that stands for all other names.
    static let others = "*"

    /// Reads three values of a reply of `statistics.lua`.
    fileprivate init?(_ values: ArraySlice<RedisValue>, _ unit: StatisticsQuery.Unit) {
        let values = Array(values)
        guard values.count == 3, let number = values[0].int, let name = values[1].string,
            let statistics = Statistics(packed: values[2].bytes ?? [])
        else { return nil }
        self.init(
            start: Int64(number) * unit.milliseconds,
            name: unit == .minute || name == Self.others ? nil : name,
            statistics: statistics
        )
    }
}

extension StatisticsDelta {
    /// Appends the arguments that `take_statistics.lua` reads.
    func append(to arguments: inout RedisArguments) {
        arguments.append(number)
        arguments.append(entries.count)
        for entry in entries {
            arguments.append(entry.name ?? StatisticsReply.Row.others)
            arguments.append(entry.statistics.packed)
        }
    }

    /// The approximate number of bytes that a delta adds to a call.
    static func capacity(_ delta: StatisticsDelta?) -> Int { 256 * (delta?.entries.count ?? 0) }
}
