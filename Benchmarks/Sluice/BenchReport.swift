import Operations
import SluiceCLI
import Synchronization

/// Collects measurements: lines at once for programs, and a table at the end for people.
final class BenchReport: Sendable {
    private let invocation: Invocation
    private let format: OutputFormat
    private let measurements = Mutex<[Measurement]>([])

    init(_ invocation: Invocation, asLines: Bool) {
        self.invocation = invocation
        format = asLines ? .jsonl : invocation.format
    }

    func add(_ measurement: Measurement) {
        measurements.withLock { $0.append(measurement) }
        if format == .jsonl { invocation.console.print(measurement.json.serialized()) }
    }

    func end() {
        let all = measurements.withLock { $0 }
        switch format {
        case .jsonl: break
        case .json: invocation.console.print(["v": 1, "measurements": .array(all.map(\.json))], .json)
        case .table, .wide, .csv, .id:
            var table = BenchTable(style: invocation.console.output)
            for measurement in all { table.append(measurement) }
            invocation.console.print(table.table, format, showsHeader: invocation.options.showsHeader)
        }
        let judged = all.compactMap(\.isMet)
        invocation.console.note("\(judged.count { $0 }) of \(judged.count) budgets met")
    }
}
