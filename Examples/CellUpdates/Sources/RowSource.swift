import ExampleBasics
import Synchronization

/// The data that a row shows.
struct RowData: Sendable, Hashable {
    let row: Int
    let text: String

    init(row: Int) {
        self.row = row
        text = "row \(row), \(row * row) squared"
    }
}

/// The source of updates. Each takes a while; about a third ignore cancels and come late.
final class RowSource: Sendable {
    private let generator: Mutex<SeededGenerator>
    private let load = Gauge()

    /// The most updates in flight at once.
    var mostAtOnce: Int { load.most }

    init(seed: UInt64) { generator = Mutex(SeededGenerator(seed: seed)) }

    func update(_ row: Int) async throws -> RowData {
        load.begin()
        defer { load.end() }
        let (milliseconds, isDeaf) = generator.withLock {
            (Int.random(in: 0...15, using: &$0), Int.random(in: 0..<3, using: &$0) == 0)
        }
        let work = Task { try? await Task.sleep(for: .milliseconds(milliseconds)) }
        await withTaskCancellationHandler {
            await work.value
        } onCancel: {
            if !isDeaf { work.cancel() }
        }
        if !isDeaf { try Task.checkCancellation() }
        return RowData(row: row)
    }
}
