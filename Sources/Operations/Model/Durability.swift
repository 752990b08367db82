/// The confirmation that an enqueue waits for, beyond the answer that Redis has the operation.
public enum Durability: Sendable, Hashable, CustomStringConvertible {
    /// No further confirmation: Redis has the operation in memory.
    case none
    /// The operation is also on this many replicas.
    case replicas(Int)
    /// The operation is on disk in the append-only file. Requires Redis 7.2 with `appendonly yes`.
    case disk

    /// Reads `none`, `wait:N` (1 to 100 replicas) or `aof`.
    ///
    /// - Throws: `OperationsError` with `.invalidOption`.
    public init(parsing text: String) throws(OperationsError) {
        switch text {
        case "none": self = .none
        case "aof": self = .disk
        default:
            let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, parts[0] == "wait", let number = Int(parts[1]), (1...100).contains(number) else {
                throw OperationsError(
                    .invalidOption,
                    "durability \(OperationsError.quoted(text)) is unknown: use none, wait:N (1 to 100 replicas) or aof"
                )
            }
            self = .replicas(number)
        }
    }

    /// The text that `init(parsing:)` reads.
    public var description: String {
        switch self {
        case .none: "none"
        case .replicas(let number): "wait:\(number)"
        case .disk: "aof"
        }
    }
}

/// A broker that can confirm the durability of its writes.
package protocol DurableBroker: Sendable {
    /// Writes, then waits until the durability is reached. Checks before the write that the server supports it.
    ///
    /// - Returns: the result of `body`, and whether the durability was confirmed in time. After `body` no error is
    ///   thrown, because the write is stored.
    /// - Throws: the error of `body`; before `body` runs, `OperationsError` with `.invalidOption` if the server does
    ///   not support the durability, `.denied`, or `.unavailable`.
    func confirming<Result>(
        _ durability: Durability,
        queue: String,
        _ body: () async throws -> Result
    ) async throws -> (result: Result, isConfirmed: Bool)
}
