import Foundation

/// How an operation ended that another one has waited for, and its result.
public struct DependencyResult: Sendable {
    /// Its id.
    public let id: OperationID
    /// The queue that it is in; nil = that of the operation that has waited.
    public let queue: String?
    /// How it ended; nil if it was removed before it did.
    public let state: OperationState?
    private let json: [UInt8]?

    package init(_ input: DependencyInput) {
        (id, queue, state, json) = (input.name.id, input.name.queue, input.state, input.result)
    }

    /// What its `main` returned.
    ///
    /// - Parameter type: its output.
    /// - Returns: the decoded result.
    /// - Throws: `OperationsError` with `.refused` if it has not finished, with `.notFound` if its result is kept no more; `DecodingError` if the result
    ///   is of another type.
    public func value<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
        guard state == .finished else {
            let end = state.map { "is \($0.rawValue)" } ?? "was removed"
            throw OperationsError(.refused, "operation \(id) \(end), so it has no result", id: id)
        }
        guard let json else {
            throw OperationsError(.notFound, "the result of operation \(id) is kept no more", id: id)
        }
        return try JSONDecoder().decode(type, from: Data(json))
    }
}

extension OperationContext {
    /// The operations that this one has waited for (`EnqueueOptions.after`), in the order of their ids, with their results; those in other queues come last. Empty for one that has waited
    /// for none, and in a local queue, where references to operations have their results.
    ///
    /// ```swift
    /// let pages = try await context.dependencies().map { try $0.value(as: Page.self) }
    /// ```
    ///
    /// A result of up to 4 KiB is kept for the operation that waits, up to 64 KiB in all. A larger one is read from the dependency, as long as that is kept.
    ///
    /// - Returns: each dependency once.
    /// - Throws: `OperationsError` with `.leaseLost` if Redis cannot be reached until the lease has lapsed; `CancellationError`.
    public func dependencies() async throws -> [DependencyResult] {
        try await link.inputs().map { DependencyResult($0) }
    }
}
