import Operations
import TerminalText

/// The newest operations of one state, read for the operations' screen.
package struct OperationsReading: Sendable {
    package var state: OperationState
    package var operations: [OperationDetail]

    package init(state: OperationState, operations: [OperationDetail]) {
        self.state = state
        self.operations = operations
    }
}

/// The operations' screen: one state at a time.
package struct OperationsPane: Sendable {
    /// The states in the order of the Tab key. The first ones need attention most often.
    static let states: [OperationState] = [
        .executing, .retrying, .dead, .ready, .scheduled, .blocked, .finished, .cancelled, .expired,
    ]

    package private(set) var state = OperationState.executing
    /// The rows; nil until they are read.
    private(set) var rows: [OperationDetail]?

    /// Shows another state, whose rows are not known yet.
    mutating func step(by distance: Int) {
        let count = Self.states.count
        let index = Self.states.firstIndex(of: state) ?? 0
        state = Self.states[(index + distance + count) % count]
        rows = nil
    }

    /// Takes rows. Those of another state come too late and are dropped.
    mutating func update(_ reading: OperationsReading) {
        if reading.state == state { rows = reading.operations }
    }

    func row(_ address: OperationAddress) -> OperationDetail? { rows?.first { $0.address == address } }
}

extension OperationDetail {
    var address: OperationAddress { OperationAddress(queue: queue, id: record.header.id) }
}

extension MonitorBroker {
    /// Reads the newest operations of one state: one page of each queue.
    ///
    /// - Parameter limit: the number of operations to read of each queue.
    func operations(_ state: OperationState, queues: [String], limit: Int) async throws -> OperationsReading {
        let found = try await withThrowingTaskGroup(of: [OperationDetail].self) { group in
            for queue in queues {
                group.addTask { try await page(state: state, queue: queue, cursor: nil, limit: limit).operations }
            }
            return try await group.reduce(into: [OperationDetail]()) { $0 += $1 }
        }
        return OperationsReading(state: state, operations: found.sorted { $0.order > $1.order })
    }
}

extension OperationDetail {
    /// The order on the operations' screen: by the time of the end, the start, or the enqueue; then by id.
    fileprivate var order: (Int64, String) {
        let id = record.header.id.description
        if state.isTerminal { return (record.endedAt, id) }
        return (state == .executing ? record.startedAt : record.enqueuedAt, id)
    }
}
