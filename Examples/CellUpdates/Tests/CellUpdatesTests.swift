import ExampleBasics
import TestTools
import Testing

@testable import cell_updates

@Suite("Cell updates", .timeLimit(.minutes(60)))
struct CellUpdatesTests {
    @Test("While 1,000 rows scroll at random, every delivery is for the row that the cell shows", arguments: [1, 2, 3])
    func scrolling(seed: UInt64) async throws {
        let table = try await scrolled(steps: 1500, seed: seed, isNaive: false)
        #expect(table.report().broken.isEmpty, "seed \(seed):\n\(table.report().table)")
        #expect(table.late > 0, "seed \(seed): without late results nothing is shown")
    }

    @Test("Without tokens, the scrolling shows wrong rows, so the check can fail")
    func naive() async throws {
        let table = try await scrolled(steps: 1500, seed: 1, isNaive: true)
        #expect(table.report().broken.contains("no cell showed another row's data"))
    }

    @Test("The program exits with 0, and without tokens with 1", arguments: [false, true])
    func program(isNaive: Bool) async throws {
        let outcome = try await Program.run("cell-updates", ["--seed", "5"] + (isNaive ? ["--naive"] : []))
        #expect(outcome.code == (isNaive ? 1 : 0), "\(outcome.output)\(outcome.errors)")
        #expect(outcome.output.contains("✗ no cell showed another row's data") == isNaive)
    }

    private func scrolled(steps: Int, seed: UInt64, isNaive: Bool) async throws -> Table {
        let source = RowSource(seed: seed)
        let table = Table(rows: 1000, cells: 12, updatesAtOnce: 8, source: source, isNaive: isNaive)
        var scrolling = Scrolling(rows: 1000 - 12, seed: seed)
        for _ in 0..<steps {
            table.scroll(toTop: scrolling.next())
            await takeTime(.microseconds(200))
        }
        try await table.waitUntilIdle()
        return table
    }
}
