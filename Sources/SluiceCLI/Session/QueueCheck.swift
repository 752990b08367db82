import Operations
import Selectors
import Sluice
import SluiceOperator
import TerminalText

/// Checks whether a worker will run enqueued operations.
struct QueueCheck: Sendable {
    private let client: SluiceClient
    /// The participle at the beginning of warnings.
    private let done: String

    init(_ client: SluiceClient, done: String = "enqueued") {
        self.client = client
        self.done = done
    }

    /// Refuses a queue that has never been used, which is probably a typing error.
    ///
    /// - Throws: `CLIError` with `.refused`.
    func requireUsed(_ queue: String) async throws {
        let known = try await client.queues()
        guard !known.contains(queue) else { return }
        throw CLIError(
            .refused,
            "queue \"\(queue)\" has no worker and has never been used",
            notes: Suggestion.nearest(to: queue, among: known).map { ["did you mean \"\($0)\"?"] } ?? [],
            fix: "drop --strict to enqueue anyway"
        )
    }

    /// Warns about operations that no live worker handles.
    ///
    /// If the workers cannot be read, this only warns, because the operations are enqueued already.
    func warn(_ operations: [(queue: String, name: String)], console: Console) async {
        guard !console.quiet else { return }
        do { try await warnings(operations, console) } catch {
            console.warn("\(done), but the workers cannot be read: \(SafeText.line("\(error)"))")
        }
    }

    private func warnings(_ operations: [(queue: String, name: String)], _ console: Console) async throws {
        for (queue, pairs) in Dictionary(grouping: operations, by: \.queue).sorted(by: { $0.key < $1.key }) {
            let snapshot = try await client.broker.snapshot(queue: queue, executingRows: 0)
            if snapshot.paused {
                console.warn(
                    "queue \(queue) is paused\(snapshot.pause.map { " by \(SafeText.line($0.by))" } ?? ""); resume it: \(Program.name) queue resume \(queue)"
                )
            }
            let live = snapshot.liveWorkers.compactMap { WorkerInfo($0.info) }
            if live.isEmpty {
                console.warn(
                    "\(done), but no live worker serves queue \(queue); start one: \(Program.name) worker -q \(queue)"
                )
                continue
            }
            let handled = Set(live.flatMap(\.handles))
            for name in Set(pairs.map(\.name)).subtracting(handled).sorted().prefix(10) {
                let similar = Suggestion.nearest(to: name, among: handled).map { SafeText.line($0) }
                let near = similar.map { "; did you mean \"\($0)\"?" }
                let isBuiltIn = ["exec", "http", "download"].contains(name)
                let more = isBuiltIn ? " (start one with --allow \(name))" : near ?? ""
                console.warn("\(done), but no live worker handles \"\(SafeText.line(name))\" (queue \(queue))\(more)")
            }
        }
    }
}
