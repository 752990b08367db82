import Operations

extension EventBatch {
    /// The life of an operation.
    private static let life: [OperationState] = [
        .scheduled, .blocked, .retrying, .ready, .executing, .finished, .dead, .cancelled, .expired,
    ]

    /// The counts in the order in which the states occur; states without a named transition follow in the order of an
    /// operation's life.
    package var countsInOrder: [(state: OperationState, count: Int)] {
        var order: [OperationState] = []
        for state in transitions.map(\.state) + Self.life where !order.contains(state) { order.append(state) }
        return order.compactMap { state in
            guard let count = counts[state], count > 0 else { return nil }
            return (state, count)
        }
    }
}
