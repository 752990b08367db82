import Operations
import SluiceOperator
import TerminalText

/// The start of a worker, a mark beside statistics over time: a deploy starts workers.
///
/// Redis stores the starts of workers that run, and of those that were lost within a day.
struct WorkerStart: Equatable {
    /// Milliseconds since 1970 by the worker's clock.
    var at: Int64
    var version: String

    /// The starts of all known workers that serve, oldest first.
    static func all(_ board: Board?, where serves: (WorkerInfo) -> Bool) -> [WorkerStart] {
        guard let board else { return [] }
        let infos = board.workers.compactMap(\.info) + board.lost.compactMap(\.info)
        return infos.filter(serves).map { WorkerStart(at: $0.startedAt, version: $0.version) }.sorted { $0.at < $1.at }
    }

    /// A mark for each period in which workers started.
    static func marks(_ starts: [WorkerStart], in series: StatisticsSeries) -> [ChartData.Mark] {
        guard let first = series.periods.first?.start else { return [] }
        let end = first + series.length * Int64(series.periods.count)
        let periods = Dictionary(grouping: starts.filter { (first..<end).contains($0.at) }) {
            ($0.at - first) / series.length
        }
        return periods.sorted { $0.key < $1.key }.map { period, starts in
            let versions = Set(starts.map(\.version)).sorted().joined(separator: ", ")
            let count = starts.count == 1 ? "1 worker started" : "\(starts.count) workers started"
            let clock = TimeText.rfc3339(starts[0].at).dropFirst(5).prefix(11).replacing("T", with: " ")
            return ChartData.Mark(
                position: Double(starts[0].at - first) / Double(series.length),
                text: "\(clock) \(count), sluice \(versions)"
            )
        }
    }
}
