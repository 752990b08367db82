import Foundation

/// A unit of work that any process may enqueue and any worker that registered it may run.
///
/// The value's own properties are its arguments, stored as JSON. Delivery is at least once: after a crash, an operation
/// may run again, with the same `attempt`, a higher `delivery` and a higher `fence`.
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
    /// The type that `main` returns: `Void`, or a `Codable` type that is stored as JSON.
    associatedtype Output: Sendable

    /// The name under which the type is registered and stored. Never change the name while operations of the type
    /// exist.
    static var name: String { get }

    /// The number of attempts and the pauses between them, unless the producer sets its own.
    static var retryPolicy: RetryPolicy { get }

    /// The longest time for one attempt; nil = no limit.
    static var runTimeout: Duration? { get }

    /// Does the work.
    ///
    /// - Parameter context: the id and attempt of this run, and the methods to report progress and log lines.
    /// - Returns: the result.
    /// - Throws: any error; the retry policy decides whether another attempt follows. After a cancel request, any error
    ///   ends the operation as cancelled.
    func main(_ context: OperationContext) async throws -> Output

    /// Encodes a result to store: JSON, or no bytes for an operation without a result.
    static func encode(result: Output) throws -> [UInt8]

    /// Decodes a result that `encode` wrote.
    static func decode(result: [UInt8]) throws -> Output
}

extension DistributedOperation {
    public static var retryPolicy: RetryPolicy { RetryPolicy() }
    public static var runTimeout: Duration? { nil }
}

extension DistributedOperation where Output: Codable {
    /// Encodes the result as JSON.
    public static func encode(result: Output) throws -> [UInt8] { Array(try JSONEncoder().encode(result)) }
    /// Decodes the result from JSON.
    public static func decode(result: [UInt8]) throws -> Output {
        try JSONDecoder().decode(Output.self, from: Data(result))
    }
}

extension DistributedOperation where Output == Void {
    /// Returns no bytes.
    public static func encode(result: Void) -> [UInt8] { [] }
    /// Ignores the bytes.
    public static func decode(result: [UInt8]) {}
}
