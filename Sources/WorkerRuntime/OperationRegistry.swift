import Foundation
import Operations

/// The operations that a worker can run, by name. Closed: nothing that is not registered is ever run.
///
/// Registering a name twice, one that `NameRule` forbids, or a retry policy without 1 to 999 attempts is a mistake in the program and ends it.
public struct OperationRegistry: Sendable {
    private var handlers: [String: OperationHandler] = [:]

    /// A registry without operations.
    public init() {}

    /// The registered names, sorted.
    public var names: [String] { handlers.keys.sorted() }

    /// Registers a type under its name. Its `RetryDeciding` and `EndObserving` are honoured.
    ///
    /// - Parameter type: the operation; its values are read from the stored JSON.
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

    /// Of arguments that cannot be read there is nobody to tell.
    private static func tell<Operation: DistributedOperation>(_ type: Operation.Type) -> OperationHandler.EndHook {
        { ending, arguments, context in
            let operation = try? ArgumentsFailure.decode(arguments, as: type, of: Operation.name)
            await (operation as? any EndObserving)?.note(ending, context)
        }
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

// MARK: - Definitions

extension OperationRegistry {
    /// Called when an operation has ended in a worker: on its slot, before the end is stored, with the guarantees of `EndObserving`.
    public typealias EndHook = @Sendable (LocalOperationEnding, OperationContext) async -> Void

    /// Registers a definition: a closure, several closures, a bound method, a blocking body or a `Foundation.Operation` by name. Its
    /// arguments are read from the stored JSON, its result is stored as JSON.
    ///
    /// Inside, `LocalOperation.current` is there as in a local queue: it sees the cancel, takes progress and log lines, and its `context`
    /// says which enqueued operation it is. The time limit and the retries of the options hold, also a closure that decides by the error;
    /// priority and place in the queue are the enqueued operation's.
    ///
    /// - Parameters:
    ///   - definition: name, options and body.
    ///   - retryPolicy: attempts and pauses where the definition's options say nothing about retries.
    ///   - onEnd: called when an operation has ended.
    public mutating func register<Arguments: Decodable & Sendable, Output: Encodable & Sendable>(
        _ definition: OperationDefinition<Arguments, Output>,
        retryPolicy: RetryPolicy = RetryPolicy(),
        onEnd: EndHook? = nil
    ) {
        register(definition, retryPolicy, onEnd, decode: Self.reader(definition.name), encode: Self.write)
    }

    /// The same for a definition without a result.
    ///
    /// - Parameters:
    ///   - definition: name, options and body.
    ///   - retryPolicy: attempts and pauses where the definition's options say nothing about retries.
    ///   - onEnd: called when an operation has ended.
    public mutating func register<Arguments: Decodable & Sendable>(
        _ definition: OperationDefinition<Arguments, Void>,
        retryPolicy: RetryPolicy = RetryPolicy(),
        onEnd: EndHook? = nil
    ) {
        register(definition, retryPolicy, onEnd, decode: Self.reader(definition.name), encode: { [] })
    }

    /// The same for a definition that looks at no arguments.
    ///
    /// - Parameters:
    ///   - definition: name, options and body.
    ///   - retryPolicy: attempts and pauses where the definition's options say nothing about retries.
    ///   - onEnd: called when an operation has ended.
    public mutating func register<Output: Encodable & Sendable>(
        _ definition: OperationDefinition<Void, Output>,
        retryPolicy: RetryPolicy = RetryPolicy(),
        onEnd: EndHook? = nil
    ) {
        register(definition, retryPolicy, onEnd, decode: { _ in }, encode: Self.write)
    }

    /// The same for a definition without arguments and result.
    ///
    /// - Parameters:
    ///   - definition: name, options and body.
    ///   - retryPolicy: attempts and pauses where the definition's options say nothing about retries.
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
