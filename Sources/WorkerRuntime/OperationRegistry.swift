import Foundation
import Operations

/// The operations that a worker can run, by name. A worker never runs an operation that is not registered.
///
/// The program ends if a name is registered twice or is invalid by `NameRule`, or if a retry policy does not have 1 to
/// 999 attempts.
public struct OperationRegistry: Sendable {
    private var handlers: [String: OperationHandler] = [:]

    /// A registry without operations.
    public init() {}

    /// The registered names, sorted.
    public var names: [String] { handlers.keys.sorted() }

    /// Registers a type under its name, with its `RetryDeciding` and `EndObserving`.
    ///
    /// - Parameter type: the operation type; its values are read from the stored JSON.
    public mutating func register<Operation: DistributedOperation>(_ type: Operation.Type) {
        var handler = OperationHandler(
            name: Operation.name,
            retryPolicy: Operation.retryPolicy,
            runTimeout: Operation.runTimeout
        ) { arguments, context in
            let operation = try ArgumentsFailure.decode(arguments, as: type, of: Operation.name)
            let output = try await operation.main(context)
            return try ResultFailure.encode(of: Operation.name) { try Operation.encode(result: output) }
        }
        if let deciding = type as? any RetryDeciding.Type {
            handler.decide = { error, attempt in deciding.retryPolicy(for: error, attempt: attempt) }
        }
        if type is any EndObserving.Type { handler.onEnd = Self.tell(type) }
        register(handler)
    }

    /// Makes the end hook of a type. Without readable arguments no operation exists whose `note` could be called.
    private static func tell<Operation: DistributedOperation>(_ type: Operation.Type) -> OperationHandler.EndHook {
        { ending, arguments, context in
            let operation = try? ArgumentsFailure.decode(arguments, as: type, of: Operation.name)
            await (operation as? any EndObserving)?.note(ending, context)
        }
    }

    /// Registers a handler without types.
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

// MARK: - Definitions

extension OperationRegistry {
    /// Called when an operation has ended in a worker: on the operation's slot, before the end is stored.
    /// `EndObserving` states the guarantees.
    public typealias EndHook = @Sendable (LocalOperationEnding, OperationContext) async -> Void

    /// Registers a definition by name: a closure, several closures, a bound method, a blocking body or a
    /// `Foundation.Operation`.
    ///
    /// The arguments are read from the stored JSON, and the result is stored as JSON. In the body,
    /// `LocalOperation.current` works as in a local queue, with cancel, progress and log lines. The `context` of that
    /// value identifies the enqueued operation. The time limit and the retries of the options apply, also a closure
    /// that decides by the error. Priority and place in the queue are those of the enqueued operation.
    ///
    /// - Parameters:
    ///   - definition: name, options and body.
    ///   - retryPolicy: attempts and pauses if the definition's options have no retries.
    ///   - onEnd: called when an operation has ended.
    public mutating func register<Arguments: Decodable & Sendable, Output: Encodable & Sendable>(
        _ definition: OperationDefinition<Arguments, Output>,
        retryPolicy: RetryPolicy = RetryPolicy(),
        onEnd: EndHook? = nil
    ) {
        register(definition, retryPolicy, onEnd, decode: Self.reader(definition.name), encode: Self.write)
    }

    /// Registers a definition without a result.
    ///
    /// - Parameters:
    ///   - definition: name, options and body.
    ///   - retryPolicy: attempts and pauses if the definition's options have no retries.
    ///   - onEnd: called when an operation has ended.
    public mutating func register<Arguments: Decodable & Sendable>(
        _ definition: OperationDefinition<Arguments, Void>,
        retryPolicy: RetryPolicy = RetryPolicy(),
        onEnd: EndHook? = nil
    ) {
        register(definition, retryPolicy, onEnd, decode: Self.reader(definition.name), encode: { [] })
    }

    /// Registers a definition that ignores its arguments.
    ///
    /// - Parameters:
    ///   - definition: name, options and body.
    ///   - retryPolicy: attempts and pauses if the definition's options have no retries.
    ///   - onEnd: called when an operation has ended.
    public mutating func register<Output: Encodable & Sendable>(
        _ definition: OperationDefinition<Void, Output>,
        retryPolicy: RetryPolicy = RetryPolicy(),
        onEnd: EndHook? = nil
    ) {
        register(definition, retryPolicy, onEnd, decode: { _ in }, encode: Self.write)
    }

    /// Registers a definition without arguments and result.
    ///
    /// - Parameters:
    ///   - definition: name, options and body.
    ///   - retryPolicy: attempts and pauses if the definition's options have no retries.
    ///   - onEnd: called when an operation has ended.
    public mutating func register(
        _ definition: OperationDefinition<Void, Void>,
        retryPolicy: RetryPolicy = RetryPolicy(),
        onEnd: EndHook? = nil
    ) {
        register(definition, retryPolicy, onEnd, decode: { _ in }, encode: { [] })
    }

    private mutating func register<Arguments, Output>(
        _ definition: OperationDefinition<Arguments, Output>,
        _ retryPolicy: RetryPolicy,
        _ onEnd: EndHook?,
        decode: @escaping @Sendable ([UInt8]) throws -> Arguments,
        encode: @escaping @Sendable (Output) throws -> [UInt8]
    ) {
        var handler = definition.handler(retryPolicy: retryPolicy, decode: decode, encode: encode)
        if let onEnd { handler.onEnd = { ending, _, context in await onEnd(ending, context) } }
        register(handler)
    }

    private static func reader<Arguments: Decodable & Sendable>(_ name: String)
        -> @Sendable ([UInt8]) throws -> Arguments
    {
        { json in try ArgumentsFailure.decode(json, as: Arguments.self, of: name) }
    }

    private static func write<Output: Encodable & Sendable>(_ output: Output) throws -> [UInt8] {
        Array(try JSONEncoder().encode(output))
    }
}
