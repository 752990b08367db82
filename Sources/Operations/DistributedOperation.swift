import Foundation

/// A unit of work that any process may enqueue and any worker that registered it may run.
///
/// The value's own properties are its arguments: they are stored as JSON. Delivery is at least once: after a crash, an
/// operation may run again, with the same `attempt`, a higher `delivery` and a higher `fence`.
///
/// ```swift
/// struct Resize: DistributedOperation {
///     static let name = "image.resize"
///     let path: String
///     let width: Int
///     func main(_ context: OperationContext) async throws -> String { "\(path)@\(width)" }
/// }
/// ```
public protocol DistributedOperation: Codable, Sendable {
    /// What `main` returns: `Void`, or a `Codable` type that is stored as JSON.
    associatedtype Output: Sendable

    /// The name under which the type is registered and stored. It must never change while operations of it exist.
    static var name: String { get }

    /// Attempts and pauses, unless the producer says otherwise.
    static var retryPolicy: RetryPolicy { get }

    /// Longest time for one attempt; nil = no limit.
    static var runTimeout: Duration? { get }

    /// Does the work.
    ///
    /// - Parameter context: who it is, and where to report progress and log lines.
    /// - Returns: the result.
    /// - Throws: whatever went wrong; the retry policy decides what follows. After a cancel was requested, throwing anything ends
    ///   the operation as cancelled.
    func main(_ context: OperationContext) async throws -> Output

    /// The stored form of a result: JSON, or empty for none.
    static func encode(result: Output) throws -> [UInt8]

    /// The result that `encode` stored.
    static func decode(result: [UInt8]) throws -> Output
}

extension DistributedOperation {
    public static var retryPolicy: RetryPolicy { RetryPolicy() }
    public static var runTimeout: Duration? { nil }
}

extension DistributedOperation where Output: Codable {
    /// JSON.
    public static func encode(result: Output) throws -> [UInt8] { Array(try JSONEncoder().encode(result)) }
    /// Reads JSON.
    public static func decode(result: [UInt8]) throws -> Output {
        try JSONDecoder().decode(Output.self, from: Data(result))
    }
}

extension DistributedOperation where Output == Void {
    /// Nothing.
    public static func encode(result: Void) -> [UInt8] { [] }
    /// Reads nothing.
    public static func decode(result: [UInt8]) {}
}
