import Operations
import TerminalText

/// The operations that hold the places of a queue's limits, and those that start next.
package struct QueuePlaces: Sendable {
    /// The most limit keys to read, and the most waiting operations.
    private static let keysRead = 10
    private static let waitingRead = 100
    private static let namesShown = 5

    /// The limit keys with ready operations, and those with limits of their own.
    package var keys: [LimitKeyState] = []
    /// The number of operations by name among the next ready ones, largest number first.
    package var waiting: [(name: String, count: Int)] = []
    /// The number of ready operations that were read for `waiting`.
    package var waitingCount = 0

    /// Reads one page of ready operations, and the limit keys, all at once over the pipelined connection.
    package static func read(_ broker: any MonitorBroker, _ queue: QueueSnapshot) async throws -> QueuePlaces {
        let own = queue.limits.keys.keys.sorted()
        var names = queue.limitKeys.map(\.key)
        names += own.filter { !names.contains($0) }
        async let waiting = waitingNames(broker, queue)
        let keys = Array(names.prefix(keysRead))
        let states = try await withThrowingTaskGroup(of: (String, LimitKeyState).self) { group in
            for key in keys { group.addTask { (key, try await broker.limitKey(key, queue: queue.queue)) } }
            return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
        var places = try await waiting
        places.keys = keys.compactMap { states[$0] }
        return places
    }

    /// Reads only the names of the operations that start next.
    package static func waitingNames(_ broker: any MonitorBroker, _ queue: QueueSnapshot) async throws -> QueuePlaces {
        let page = try await broker.page(state: .ready, queue: queue.queue, cursor: nil, limit: waitingRead)
        let details = page.operations
        var places = QueuePlaces()
        places.waitingCount = details.count
        places.waiting = Dictionary(grouping: details) { $0.envelope.name }.map { ($0.key, $0.value.count) }
            .sorted { ($0.count, $1.name) > ($1.count, $0.name) }
        return places
    }

    /// All reasons why operations of the queue do not start, also names that no live worker handles.
    ///
    /// - Parameter whenResumed: leaves out a pause.
    /// - Returns: sentences without a capital letter and a full stop, not escaped for a terminal.
    package func problems(_ queue: QueueSnapshot, whenResumed: Bool = false) -> [String] {
        var queue = queue
        if whenResumed { queue.paused = false }
        return QueueCondition.all(queue).map { $0.sentence(queue) } + unknownNames(queue)
    }

    /// Names of the next operations that no live worker handles, in sentences.
    ///
    /// Workers return operations that they do not handle, and then they are counted. Of a paused queue they claim none.
    package func unknownNames(_ queue: QueueSnapshot) -> [String] {
        guard !queue.liveWorkers.isEmpty else { return [] }
        let counted = Set(queue.unhandled.map(\.name))
        let unknown = waiting.filter { !queue.handles($0.name) && !counted.contains($0.name) }
        var sentences = unknown.prefix(Self.namesShown).map { name, count in
            "no live worker handles \(name): \(QuantityText.grouped(count)) of the next "
                + "\(QuantityText.grouped(waitingCount)) operations"
        }
        let more = unknown.count - sentences.count
        if more > 0 { sentences.append("no live worker handles \(more) other names") }
        return sentences
    }
}
