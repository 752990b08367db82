import Operations
import RedisClient

extension RedisBroker {
    package func figures(_ query: FiguresQuery, queue: String) async throws -> FiguresReply {
        var reply = FiguresReply(time: 0, rows: [])
        var (skip, left) = (query.skip, min(query.count, query.unit.kept - query.skip))
        repeat {
            var arguments = arguments(queue)
            let count = min(max(0, left), query.unit.atOnce)
            arguments.append(String(query.unit.rawValue.prefix(1)))
            arguments.append(skip)
            arguments.append(count)
            arguments.append(reply.time == 0 ? "" : String(reply.time))
            let values = try await read(.figures, arguments).array ?? []
            guard let time = values.first?.int else {
                throw OperationsError(.malformed, "the reply of figures cannot be read; run: sluice doctor")
            }
            reply.time = Int64(time)
            reply.rows += Array(values.dropFirst()).chunks(of: 3).compactMap { FiguresReply.Row($0, query.unit) }
            (skip, left) = (skip + count, left - count)
        } while left > 0
        reply.rows.sort { FiguresReply.isBefore($0, $1) }
        return reply
    }
}

extension FiguresQuery.Unit {
    /// The most minutes, hours or days that one call reads.
    fileprivate var atOnce: Int { self == .minute ? 480 : 8 }
}

extension FiguresReply.Row {
    /// The name that stands for all other names.
    static let others = "*"

    /// Reads three values of a reply of `figures.lua`.
    fileprivate init?(_ values: ArraySlice<RedisValue>, _ unit: FiguresQuery.Unit) {
        let values = Array(values)
        guard values.count == 3, let number = values[0].int, let name = values[1].string,
            let figures = Figures(packed: values[2].bytes ?? [])
        else { return nil }
        self.init(
            start: Int64(number) * unit.milliseconds,
            name: unit == .minute || name == Self.others ? nil : name,
            figures: figures
        )
    }
}

extension FiguresDelta {
    /// Appends the arguments that `take_figures.lua` reads.
    func append(to arguments: inout RedisArguments) {
        arguments.append(number)
        arguments.append(entries.count)
        for entry in entries {
            arguments.append(entry.name ?? FiguresReply.Row.others)
            arguments.append(entry.figures.packed)
        }
    }

    /// The approximate number of bytes that a delta adds to a call.
    static func capacity(_ delta: FiguresDelta?) -> Int { 256 * (delta?.entries.count ?? 0) }
}
