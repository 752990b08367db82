import ExampleBasics
import Synchronization

/// What a row shows.
struct RowData: Sendable, Hashable {
    let row: Int
    let text: String

    init(row: Int) {
        self.row = row
        text = "row \(row), \(row * row) squared"
    }
}

/// Where updates come from; they take a while, and every third is deaf to cancels and comes late instead.
final class RowSource: Sendable {
    private struct Load {
        var now = 0
        var most = 0
    }

    private let generator: Mutex<SeededGenerator>
    private let load = Mutex(Load())

    /// How many updates there were at the most at once.
    var mostAtOnce: Int { load.withLock { $0.most } }

    init(seed: UInt64) { generator = Mutex(SeededGenerator(seed: seed)) }

    func update(_ row: Int) async throws -> RowData {
        load.withLock { load in
            load.now += 1
            load.most = max(load.most, load.now)
        }
        defer { load.withLock { $0.now -= 1 } }
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
