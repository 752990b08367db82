import Operations
import TerminalText

/// Operations of a queue that wait for a worker that handles their name.
package struct UnhandledNote: Sendable, Equatable {
    package var queue: String
    package var name: String
    package var count: Int
    /// Whether a live worker of the queue handles the name, and only lacks a free slot.
    package var isKnown: Bool

    package init(queue: String, name: String, count: Int, isKnown: Bool) {
        (self.queue, self.name, self.count, self.isKnown) = (queue, name, count, isKnown)
    }

    package var reason: String {
        isKnown ? "unhandled: the workers that know \(name) are busy" : "unhandled: no worker knows \(name)"
    }

    /// One line, not escaped for a terminal.
    package var text: String {
        "\(reason) (\(QuantityText.grouped(count)) \(count == 1 ? "waits" : "wait") in queue \(queue))"
    }
}

extension QueueSnapshot {
    /// The notes about unhandled names, largest number first.
    package var unhandledNotes: [UnhandledNote] {
        guard !unhandled.isEmpty else { return [] }
        let known = handledNames
        return unhandled.map {
            UnhandledNote(queue: queue, name: $0.name, count: $0.count, isKnown: known.contains($0.name))
        }
    }

    /// Whether a live worker of the queue handles a name.
    package func handles(_ name: String) -> Bool { handledNames.contains(name) }

    private var handledNames: Set<String> {
        Set(liveWorkers.compactMap { WorkerInfo($0.info) }.flatMap(\.handles))
    }
}
