/// The state of an operation. The raw values are the words in JSON, tables and documentation.
public enum OperationState: String, Sendable, Codable, CaseIterable {
    /// Waiting for its start time.
    case scheduled
    /// Waiting for other operations.
    case blocked
    /// Waiting for a free slot.
    case ready
    /// Running in a worker.
    case executing
    /// Failed, and waiting for its next attempt.
    case retrying
    /// Ended with a result. Terminal.
    case finished
    /// Ended with an error, and no attempt follows; an operator may retry it. Terminal.
    case dead
    /// Ended by a cancel. Terminal.
    case cancelled
    /// Not started in time. Terminal.
    case expired

    /// Whether the operation has ended. Only an operator's retry changes one of these four states.
    public var isTerminal: Bool {
        switch self {
        case .finished, .dead, .cancelled, .expired: true
        case .scheduled, .blocked, .ready, .executing, .retrying: false
        }
    }

    /// Whether the operation can still start.
    public var isWaiting: Bool { !isTerminal && self != .executing }

    /// The letter of the state in a record's head and in event messages.
    package var code: UInt8 {
        switch self {
        case .scheduled: UInt8(ascii: "s")
        case .blocked: UInt8(ascii: "b")
        case .ready: UInt8(ascii: "r")
        case .executing: UInt8(ascii: "x")
        case .retrying: UInt8(ascii: "t")
        case .finished: UInt8(ascii: "f")
        case .dead: UInt8(ascii: "d")
        case .cancelled: UInt8(ascii: "c")
        case .expired: UInt8(ascii: "e")
        }
    }

    package init?(code: UInt8) {
        guard let state = Self.allCases.first(where: { $0.code == code }) else { return nil }
        self = state
    }
}
