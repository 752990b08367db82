import Operations
import TerminalText

/// How the operations go on that a lost worker still holds.
package struct LostOutlook: Sendable, Equatable {
    /// The operations that are not recovered yet.
    package var held: Int
    /// The queues in which no live worker can recover them.
    package var unserved: [String]
    /// Whether a live worker will recover those of at least one queue.
    package var isServed: Bool

    /// - Parameter queues: the snapshots of the queues.
    package init(of worker: WorkerSummary, in queues: [QueueSnapshot]) {
        let own = queues.filter { queue in queue.workers.contains { $0.worker == worker.id && $0.inFlight > 0 } }
        held = worker.inFlight
        unserved = own.filter { $0.liveWorkers.isEmpty && !$0.mayHaveMoreWorkers }.map(\.queue).sorted()
        isServed = unserved.count < own.count
    }

    /// `a live worker will recover its 3 operations`
    package var text: String {
        guard held > 0 else { return "it held nothing" }
        let object = "its \(QuantityText.operations(held))"
        guard isServed, !unserved.isEmpty else { return Self.sentence(isServed: isServed, object) }
        let names = (unserved.count == 1 ? "queue " : "queues ") + unserved.joined(separator: ", ")
        return Self.sentence(isServed: true, object) + ", but none serves \(names)"
    }

    /// The commands that start workers for the queues without one.
    package var remedies: [Remedy] { unserved.map { .startWorker(queue: $0, handler: nil) } }

    /// - Parameter object: `the operation`.
    package static func sentence(isServed: Bool, _ object: String) -> String {
        isServed ? "a live worker will recover \(object)" : "no live worker can recover \(object)"
    }
}
