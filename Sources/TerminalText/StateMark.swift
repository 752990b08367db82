import Operations

extension OperationState {
    /// The mark of the state, one cell wide; in ASCII a letter.
    package func mark(ascii: Bool = false) -> String {
        switch self {
        case .ready: ascii ? "R" : "∘"
        case .scheduled: ascii ? "S" : "◷"
        case .blocked: ascii ? "B" : "⊘"
        case .executing: ascii ? "X" : "►"
        case .retrying: ascii ? "T" : "↻"
        case .finished: ascii ? "F" : "✓"
        case .dead: ascii ? "D" : "✗"
        case .cancelled: ascii ? "C" : "⊗"
        case .expired: ascii ? "E" : "⧗"
        }
    }

    /// The state's colour.
    package var role: TextRole {
        switch self {
        case .executing: .executing
        case .finished: .finished
        case .retrying, .blocked: .warning
        case .dead: .dead
        case .cancelled: .cancelled
        case .ready, .scheduled, .expired: .dim
        }
    }
}

extension OperationPriority {
    /// The mark of the priority; empty for normal priority unless in ASCII.
    package func mark(ascii: Bool = false) -> String {
        switch self {
        case .veryHigh: ascii ? "++" : "⇈"
        case .high: ascii ? "+" : "↑"
        case .normal: ascii ? "." : ""
        case .low: ascii ? "-" : "↓"
        case .veryLow: ascii ? "--" : "⇊"
        }
    }
}
