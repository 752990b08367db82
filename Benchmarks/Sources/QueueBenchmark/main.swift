import Foundation
import Operations

// usage: QueueBenchmark [--scale FACTOR] [--runs COUNT] [--json] [--ours] [--only TEXT]
// Prints a table, or JSON lines. Both queues run the same work in one process, interleaved.
let arguments = CommandLine.arguments
func option(_ name: String) -> String? { arguments.firstIndex(of: name).flatMap { arguments.dropFirst($0 + 1).first } }
let scale = option("--scale").flatMap(Double.init) ?? 1
let runs = option("--runs").flatMap(Int.init) ?? 5
let isJSON = arguments.contains("--json")
let isOursOnly = arguments.contains("--ours")

func write(_ row: some Encodable, _ text: String) {
    guard isJSON else { return print(text) }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    guard let data = try? encoder.encode(row) else { return }
    print(String(decoding: data, as: UTF8.self))
}

func cell(_ text: String, _ width: Int) -> String { String(repeating: " ", count: max(0, width - text.count)) + text }
func whole(_ number: Double?) -> String { number.map { String(Int($0.rounded())) } ?? "-" }

if option("--only") == nil { measureMemory() }
if !isJSON {
    print("nanoseconds per operation, middle of \(runs) runs")
    print(
        "work".padding(toLength: 40, withPad: " ", startingAt: 0),
        cell("n", 9),
        cell("Sluice", 9),
        cell("Foundation", 11),
        cell("ratio", 7)
    )
}
for item in BenchmarkCase.all(scale: scale) where option("--only").map(item.name.contains) ?? true {
    let ours = try await nanoseconds(runs: runs, operations: item.operations) { try await item.ours(item.operations) }
    var theirs: Double?
    if !isOursOnly, let foundation = item.foundation {
        theirs = try await nanoseconds(runs: runs, operations: item.operations) {
            try await foundation(item.operations)
        }
    }
    let ratio = theirs.map { $0 / ours }
    let row = Row(
        name: item.name,
        operations: item.operations,
        nanosecondsPerOperation: ours,
        foundationNanosecondsPerOperation: theirs,
        timesFaster: ratio
    )
    write(
        row,
        [
            item.name.padding(toLength: 40, withPad: " ", startingAt: 0), cell("\(item.operations)", 9),
            cell(whole(ours), 9),
            cell(whole(theirs), 11), cell(ratio.map { String(format: "%.1f×", $0) } ?? "-", 7),
        ].joined(separator: " ")
    )
}
if option("--only") == nil { try await measureGrowth() }
