import ArgumentParser
import ExampleBasics
import Operations

@main
struct App: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cell-updates",
        abstract: "Scrolls a table at random: a row that appears starts an update, one that disappears cancels it.",
        discussion: "A few cells show all rows in turn. No cell may ever show another row's data."
    )

    @Option(help: "Rows of the table.") var rows = 1000
    @Option(help: "How often it is scrolled.") var steps = 400
    @Option(help: "The same seed scrolls the same way.") var seed = UInt64.random(in: 1...9999)
    @Flag(help: "Deliver without tokens, as it is often written, and see what happens.") var naive = false

    func validate() throws {
        guard rows >= 20, steps >= 1 else { throw ValidationError("at least 20 rows and 1 step") }
    }

    func run() async throws {
        print("\(rows) rows, 12 cells, 8 updates at a time, seed \(seed)")
        let table = Table(rows: rows, cells: 12, updatesAtOnce: 8, source: RowSource(seed: seed), isNaive: naive)
        var scrolling = Scrolling(rows: rows - 12, seed: seed)
        for step in 1...steps {
            table.scroll(toTop: scrolling.next())
            if step.isMultiple(of: max(1, steps / 12)) { print("  step \("\(step)".padded(to: 6)) \(table.strip)") }
            // The time between two frames.
            try await Task.sleep(for: .milliseconds(3))
        }
        try await table.waitUntilIdle()
        print("  at rest     \(table.strip)")
        let report = table.report()
        print("\n\(report.table)")
        if !report.broken.isEmpty { throw ExitCode.failure }
    }
}

/// Chooses where a finger scrolls the table next: a few rows further, or a fling to anywhere.
struct Scrolling {
    private let last: Int
    private var generator: SeededGenerator
    private var top = 0

    /// - Parameter rows: the number of rows that can be at the top.
    init(rows: Int, seed: UInt64) {
        last = rows
        generator = SeededGenerator(seed: seed)
    }

    mutating func next() -> Int {
        let isFling = Int.random(in: 0..<8, using: &generator) == 0
        let wanted =
            isFling ? Int.random(in: 0...last, using: &generator) : top + Int.random(in: -3...6, using: &generator)
        top = min(max(wanted, 0), last)
        return top
    }
}
