import Foundation

/// The end of a dependency, and its result, for the operation that waited for it.
public struct DependencyResult: Sendable {
    /// The id of the dependency.
    public let id: OperationID
    /// The queue of the dependency; nil = the queue of the operation that waited.
    public let queue: String?
    /// The state in which the dependency ended; nil if it was removed before its end.
    public let state: OperationState?
    private let json: [UInt8]?

    package init(_ input: DependencyInput) {
        (id, queue, state, json) = (input.name.id, input.name.queue, input.state, input.result)
    }

    /// Returns the value that the dependency's `main` returned.
    ///
    /// - Parameter type: the output type of the dependency.
    /// - Returns: the decoded result.
    /// - Throws: `OperationsError` with `.refused` if the dependency has not finished, and with `.notFound` if its
    ///   result is no longer stored; `DecodingError` if the result is of another type.
    public func value<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
        guard state == .finished else {
            let end = state.map { "is \($0.rawValue)" } ?? "was removed"
            throw OperationsError(.refused, "operation \(id) \(end), so it has no result", id: id)
        }
        guard let json else {
            throw OperationsError(.notFound, "the result of operation \(id) is no longer stored", id: id)
        }
        return try JSONDecoder().decode(type, from: Data(json))
    }
}

extension OperationContext {
    /// The dependencies of this operation (`EnqueueOptions.after`) with their results, in the order of their ids.
    ///
    /// Dependencies in other queues come last. The list is empty for an operation without dependencies, and in a local
    /// queue, where references to operations have their results.
    ///
    /// ```swift
    /// let pages = try await context.dependencies().map { try $0.value(as: Page.self) }
    /// ```
    ///
    /// Results of up to 4 KiB each, 64 KiB in all, are stored for the operation that waits. A larger one is read from
    /// the dependency, as long as its result is stored.
    ///
    /// - Returns: each dependency once.
    /// - Throws: `OperationsError` with `.leaseLost` if Redis cannot be reached before the lease lapses;
    ///   `CancellationError`.
    public func dependencies() async throws -> [DependencyResult] {
        try await link.inputs().map { DependencyResult($0) }
    }
}
