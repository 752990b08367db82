import Operations

/// The statistics of a queue over time.
struct KeptFigures {
    /// By the number of the minute.
    var minutes: [Int64: Figures] = [:]
    /// By unit, number of the hour or day, and name; nil = all further names together.
    var named: [FiguresQuery.Unit: [Int64: [String?: Figures]]] = [:]
    /// How many enqueued operations the minutes contain.
    var enqueued: Int64 = 0
}

extension QueueModel {
    /// Adds the statistics that a worker has sent. A delta counts only if its number is above that of the last delta
    /// taken.
    ///
    /// - Returns: the sum of what was added, over all names.
    mutating func take(_ deltas: [FiguresDelta], of worker: String) -> Figures {
        var sum = Figures()
        for delta in deltas {
            guard delta.number > workers[worker]?.figures ?? 0 else { continue }
            for entry in delta.entries {
                add(entry, .hour)
                add(entry, .day)
                sum.add(entry.figures)
            }
            workers[worker, default: HeldOperations()].figures = delta.number
        }
        return sum
    }

    /// Adds the statistics of one name. A new name beyond `Defaults.figureNames` is counted together with all others.
    private mutating func add(_ entry: FiguresDelta.Entry, _ unit: FiguresQuery.Unit) {
        let number = now / unit.milliseconds
        var names = figures.named[unit]?[number] ?? [:]
        let isFull = names.count - (names[nil] == nil ? 0 : 1) >= Defaults.figureNames
        let name = isFull && names[entry.name] == nil ? nil : entry.name
        names[name, default: Figures()].add(entry.figures)
        figures.named[unit, default: [:]][number] = names
    }

    mutating func addMinute(_ counts: Figures) {
        if counts.isEmpty { return }
        figures.minutes[now / FiguresQuery.Unit.minute.milliseconds, default: Figures()].add(counts)
    }

    /// Returns how many operations were enqueued since a heartbeat last counted them.
    mutating func countEnqueued() -> Int64 {
        let enqueued = totals["enqueued"] ?? 0
        defer { figures.enqueued = enqueued }
        return enqueued - figures.enqueued
    }

    func figures(_ query: FiguresQuery) -> FiguresReply {
        let rows = query.numbers(at: now).flatMap { number -> [FiguresReply.Row] in
            let start = number * query.unit.milliseconds
            if query.unit == .minute {
                return figures.minutes[number].map { [FiguresReply.Row(start: start, name: nil, figures: $0)] } ?? []
            }
            return (figures.named[query.unit]?[number] ?? [:]).map { name, figures in
                FiguresReply.Row(start: start, name: name, figures: figures)
            }
            .sorted { FiguresReply.isBefore($0, $1) }
        }
        return FiguresReply(time: now, rows: rows)
    }
}
