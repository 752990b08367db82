/// An operation whose arguments and body are one type. Any process may enqueue it, and any worker that registered the
/// type may run it.
///
/// ```swift
/// struct Resize: DistributedOperation {
///     static let name = "image.resize"
///     let path: String
///     let width: Int
///     func main(_ context: OperationContext) async throws -> String { "\(path)@\(width)" }
/// }
/// ```
///
/// Adopt `OperationArguments` alone if the body needs objects of the worker, such as a database pool.
public protocol DistributedOperation: OperationArguments {
    /// The type that `main` returns: `Void`, or a `Codable` type that is stored as JSON.
    associatedtype Output

    /// Does the work.
    ///
    /// - Parameter context: the id and attempt of this run, and the methods to report progress and log lines.
    /// - Returns: the result.
    /// - Throws: any error; the retry policy decides whether another attempt follows. After a cancel request, any error
    ///   ends the operation as cancelled.
    func main(_ context: OperationContext) async throws -> Output
}
