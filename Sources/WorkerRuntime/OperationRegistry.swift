import Foundation
import Operations

/// The operations that a worker can run, by name. A worker never runs an operation that is not registered.
///
/// A worker refuses to start if a name is registered twice or is invalid by `NameRule`, or if a retry policy does not
/// have 1 to 999 attempts.
public struct OperationRegistry: Sendable {
    private var handlers: [String: OperationHandler] = [:]
    /// Code around each run, after the middleware of the client.
    package private(set) var middleware: [any OperationMiddleware] = []
    /// The reason why a registration was not accepted; the first one.
    private var fault: WorkerError?

    /// A registry without operations.
    public init() {}

    /// The registered names, sorted.
    public var names: [String] { handlers.keys.sorted() }

    /// Adds middleware of this worker, inside the middleware of its client. Clients of bodies have it, too.
    ///
    /// - Parameter middleware: code around each run and each enqueue of a body.
    public mutating func use(_ middleware: any OperationMiddleware) { self.middleware.append(middleware) }

    /// Registers a type that has its body itself, with its `RetryDeciding` and `EndObserving`.
    ///
    /// - Parameter type: the operation type; its values are read from the stored JSON.
    public mutating func register<Operation: DistributedOperation>(_ type: Operation.Type) {
        register(type) { operation, context in try await operation.main(context) }
    }

    /// Registers the body of an operation, with the `RetryDeciding` and `EndObserving` of its type.
    ///
    /// ```swift
    /// registry.register(Resize.self) { resize, context in
    ///     context.logger.info("resizing")
    ///     return try await images.resize(resize.path, to: resize.width)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - type: the type of the arguments; its values are read from the stored JSON.
    ///   - body: does the work, and returns the result. The retry policy decides whether another attempt follows an
    ///     error. After a cancel request, any error ends the operation as cancelled.
    public mutating func register<Arguments: OperationArguments>(
        _ type: Arguments.Type,
        body: @escaping @Sendable (_ arguments: Arguments, _ context: OperationContext) async throws -> Arguments.Output
    ) {
        var handler = OperationHandler(
            name: Arguments.name,
            retryPolicy: Arguments.retryPolicy,
            runTimeout: Arguments.runTimeout
        ) { json, context in
            let arguments = try ArgumentsFailure.decode(json, as: type, of: Arguments.name)
            let output = try await body(arguments, context)
            return try ResultFailure.encode(of: Arguments.name) { try Arguments.encode(result: output) }
        }
        if let deciding = type as? any RetryDeciding.Type {
            handler.decide = { error, attempt in deciding.decision(after: error, attempt: attempt) }
        }
        if type is any EndObserving.Type { handler.onEnd = Self.endHook(of: type) }
        register(handler)
    }

    /// Makes the end hook of a type. Without readable arguments no operation exists whose `note` could be called.
    private static func endHook<Arguments: OperationArguments>(of type: Arguments.Type) -> OperationHandler.EndHook {
        { ending, json, context in
            let arguments = try? ArgumentsFailure.decode(json, as: type, of: Arguments.name)
            await (arguments as? any EndObserving)?.note(ending, context)
        }
    }

    /// Registers a handler without types.
    package mutating func register(_ handler: OperationHandler) {
        do { try check(handler) } catch {
            fault = fault ?? error
            return
        }
        handlers[handler.name] = handler
    }

    private func check(_ handler: OperationHandler) throws(WorkerError) {
        guard NameRule.allows(handler.name) else {
            throw WorkerError(
                .invalidConfiguration,
                "\(OperationsError.quoted(handler.name)) is not a valid operation name: use 1 to 128 letters, "
                    + "digits, '.', '_' or '-'"
            )
        }
        let name = OperationsError.quoted(handler.name)
        guard handlers[handler.name] == nil else {
            throw WorkerError(.invalidConfiguration, "the operation \(name) is registered twice: drop one of the two")
        }
        guard (1...SluiceDefaults.maxAttempts).contains(handler.retryPolicy.attempts) else {
            throw WorkerError(
                .invalidConfiguration,
                "the operation \(name) is registered with \(handler.retryPolicy.attempts) attempts: use 1 to "
                    + "\(SluiceDefaults.maxAttempts)"
            )
        }
    }

    /// Checks that every registration was accepted. A worker does this when it starts.
    ///
    /// - Throws: `WorkerError` with `.invalidConfiguration` for the first registration that was not.
    public func validate() throws(WorkerError) {
        if let fault { throw fault }
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
