import Foundation

/// The arguments of an operation: the value that a producer enqueues, without the code that runs it.
///
/// Put the type into a module that producers and workers share, and register the body in the worker. The body captures
/// the worker's own objects, such as a database pool:
///
/// ```swift
/// struct Resize: OperationArguments {
///     static let name = "image.resize"
///     typealias Output = String
///     let path: String
///     let width: Int
/// }
///
/// let worker = Worker(client: sluice) {
///     $0.register(Resize.self) { resize, context in try await images.resize(resize.path, to: resize.width) }
/// }
/// ```
///
/// An operation whose body needs no such objects can have its body itself: see `DistributedOperation`.
///
/// The stored properties are the arguments, kept as JSON. Delivery is at least once: after a crash, an operation may
/// run again, with the same `attempt`, a higher `delivery` and a higher `fence`.
public protocol OperationArguments: Codable, Sendable {
    /// The type of the result: `Void`, or a `Codable` type that is stored as JSON.
    associatedtype Output: Sendable = Void

    /// The name under which the body is registered and the operation is stored. Never change the name while operations
    /// of the type exist.
    static var name: String { get }

    /// The number of attempts and the pauses between them, unless the producer sets its own.
    static var retryPolicy: RetryPolicy { get }

    /// The longest time for one attempt; nil = no limit.
    static var runTimeout: Duration? { get }

    /// Encodes a result to store: JSON, or no bytes for an operation without a result.
    static func encode(result: Output) throws -> [UInt8]

    /// Decodes a result that `encode` wrote.
    static func decode(result: [UInt8]) throws -> Output
}

extension OperationArguments {
    public static var retryPolicy: RetryPolicy { RetryPolicy() }
    public static var runTimeout: Duration? { nil }
}

extension OperationArguments where Output: Codable {
    /// Encodes the result as JSON.
    public static func encode(result: Output) throws -> [UInt8] { Array(try JSONEncoder().encode(result)) }
    /// Decodes the result from JSON.
    public static func decode(result: [UInt8]) throws -> Output {
        try JSONDecoder().decode(Output.self, from: Data(result))
    }
}

extension OperationArguments where Output == Void {
    /// Returns no bytes.
    public static func encode(result: Void) -> [UInt8] { [] }
    /// Ignores the bytes.
    public static func decode(result: [UInt8]) {}
}
