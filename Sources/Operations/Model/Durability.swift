/// What an enqueue waits for, beyond the answer that Redis has the operation.
public enum Durability: Sendable, Hashable, CustomStringConvertible {
    /// No more: Redis has it in memory.
    case none
    /// This many replicas have it as well.
    case replicas(Int)
    /// It is on disk in the append-only file. Needs Redis 7.2 with `appendonly yes`.
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
                    "durability \(OperationsError.quoted(text)) is unknown: none, wait:N (1 to 100 replicas) or aof"
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

/// A broker that can confirm the durability of what it has written.
package protocol DurableBroker: Sendable {
    /// Writes and then waits until the durability is reached. Checks before the write that the server supports it.
    ///
    /// - Returns: what `body` returned, and whether the durability was confirmed in time. No error after `body` is thrown, because the
    ///   write is stored.
    /// - Throws: what `body` throws; before `body` runs, `OperationsError` with `.invalidOption` if the server does not support the
    ///   durability, `.denied`, or `.unavailable`.
    func confirming<Result>(
        _ durability: Durability,
        queue: String,
        _ body: () async throws -> Result
    ) async throws -> (result: Result, isConfirmed: Bool)
}
