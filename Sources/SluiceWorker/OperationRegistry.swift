import Foundation
import Operations

/// The operations that a worker can run, by name. Closed: nothing that is not registered is ever run.
public struct OperationRegistry: Sendable {
    private var handlers: [String: OperationHandler] = [:]

    /// A registry without operations.
    public init() {}

    /// The registered names, sorted.
    public var names: [String] { handlers.keys.sorted() }

    /// Registers a type under its name. Registering a name twice, one that `NameRule` forbids, or a retry policy without 1 to 999
    /// attempts is a mistake in the program and ends it.
    ///
    /// - Parameter type: the operation; its values are read from the stored JSON.
    public mutating func register<Operation: DistributedOperation>(_ type: Operation.Type) {
        register(
            OperationHandler(
                name: Operation.name,
                retryPolicy: Operation.retryPolicy,
                runTimeout: Operation.runTimeout
            ) { arguments, context in
                let operation: Operation
                do {
                    operation = try JSONDecoder().decode(Operation.self, from: Data(arguments))
                } catch {
                    throw ArgumentsFailure(name: Operation.name, error: error)
                }
                return try Operation.encode(result: await operation.main(context))
            }
        )
    }

    /// Registers a handler whose types are erased already.
    package mutating func register(_ handler: OperationHandler) {
        precondition(NameRule.allows(handler.name), "\"\(handler.name)\" is no operation name: see NameRule")
        precondition(handlers[handler.name] == nil, "the operation \"\(handler.name)\" is registered twice")
        precondition(
            (1...Defaults.maxAttempts).contains(handler.retryPolicy.attempts),
            "the operation \"\(handler.name)\" may have 1 to \(Defaults.maxAttempts) attempts"
        )
        handlers[handler.name] = handler
    }

    subscript(name: String) -> OperationHandler? { handlers[name] }
}

/// Stored arguments that are not what the operation's type asks for. Another attempt would read the same ones.
struct ArgumentsFailure: OperationFailing, CustomStringConvertible {
    let name: String
    let error: any Error

    var failureType: String { "arguments" }
    var isRetryable: Bool { false }

    var description: String { "the arguments of \"\(name)\" do not fit: \(reason)" }

    private var reason: String {
        guard let error = error as? DecodingError else { return String(describing: error) }
        switch error {
        case .keyNotFound(let key, _): return "\"\(key.stringValue)\" is missing"
        case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
            let path = context.codingPath.map(\.stringValue).joined(separator: ".")
            return (path.isEmpty ? "" : "\"\(path)\": ") + context.debugDescription
        @unknown default: return String(describing: error)
        }
    }
}
