/// What an enqueue waits for, beyond the answer that Redis has the operation.
public enum Durability: Sendable, Hashable, CustomStringConvertible {
    /// Nothing: Redis has it in memory.
    case none
    /// So many replicas have it, too.
    case replicas(Int)
    /// It is in the append-only file, on the disk. Needs Redis 7.2 with `appendonly yes`.
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

    /// The form that is read.
    public var description: String {
        switch self {
        case .none: "none"
        case .replicas(let number): "wait:\(number)"
        case .disk: "aof"
        }
    }
}

/// A broker that can say how safe its server keeps what it was given.
package protocol DurableBroker: Sendable {
    /// Writes something and waits for what the durability asks. Before it writes, it makes sure that the server can be asked.
    ///
    /// - Returns: what `body` returned, and whether it was confirmed in time. Whatever goes wrong after `body` is no failure: what
    ///   it wrote is stored.
    /// - Throws: what `body` throws; before it, `OperationsError` with `.invalidOption` if this server has no such durability,
    ///   `.denied`, or `.unavailable`.
    func confirming<Result>(
        _ durability: Durability,
        queue: String,
        _ body: () async throws -> Result
    ) async throws -> (result: Result, isConfirmed: Bool)
}
