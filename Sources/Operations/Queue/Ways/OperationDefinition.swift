import Foundation

/// A closure that has a name, typed arguments and a typed result: an operation to be added as often as there are arguments.
///
/// ```swift
/// let resize = OperationDefinition("image.resize") { (path: String) in try await thumbnail(of: path) }
/// let image = try await queue.add(resize, with: "a.png").value
/// ```
public struct OperationDefinition<Arguments: Sendable, Output: Sendable>: Sendable {
    /// The name of every operation made from it.
    public let name: String
    /// How they are to be run. Its `name` is replaced by the definition's.
    public var options: LocalOperationOptions
    let body: @Sendable (Arguments) async throws -> Output

    /// Gives a closure a name. A name that `NameRule` forbids is a mistake in the program and ends it.
    ///
    /// - Parameters:
    ///   - name: as for `DistributedOperation.name`.
    ///   - options: how its operations are to be run.
    ///   - body: the work.
    public init(
        _ name: String,
        options: LocalOperationOptions = LocalOperationOptions(),
        body: @escaping @Sendable (Arguments) async throws -> Output
    ) {
        precondition(NameRule.allows(name), "\"\(name)\" is no operation name: see NameRule")
        self.name = name
        self.options = options
        self.options.name = name
        self.body = body
    }

    /// Binds a method of an object: what `NSInvocationOperation` is for. What the method throws or returns is the operation's `value`.
    ///
    /// ```swift
    /// let sync = OperationDefinition("sync.page", target: syncer, method: Syncer.fetchPage)
    /// ```
    ///
    /// - Parameters:
    ///   - name: as for `DistributedOperation.name`.
    ///   - target: the object, which the definition and its operations keep alive until they have ended.
    ///   - method: the method as the type knows it: `Type.method`.
    ///   - options: how its operations are to be run.
    public init<Target: Sendable>(
        _ name: String,
        target: Target,
        method: @escaping @Sendable (Target) -> @Sendable (Arguments) async throws -> Output,
        options: LocalOperationOptions = LocalOperationOptions()
    ) {
        self.init(name, options: options) { arguments in try await method(target)(arguments) }
    }

    /// The same on a real thread, for a body that blocks. See `ValueOperation.blocking`.
    ///
    /// - Parameters:
    ///   - name: as for `DistributedOperation.name`.
    ///   - options: how its operations are to be run.
    ///   - threads: where they run.
    ///   - body: the work.
    public static func blocking(
        _ name: String,
        options: LocalOperationOptions = LocalOperationOptions(),
        on threads: BlockingThreads = .shared,
        body: @escaping @Sendable (Arguments) throws -> Output
    ) -> OperationDefinition {
        OperationDefinition(name, options: options) { arguments in try await threads.run { try body(arguments) } }
    }
}

extension ValueOperation {
    /// An operation from a definition, in no queue yet.
    ///
    /// - Parameters:
    ///   - definition: name, options and body.
    ///   - arguments: what the body gets.
    public convenience init<Arguments: Sendable>(
        _ definition: OperationDefinition<Arguments, Output>,
        with arguments: Arguments
    ) {
        self.init(definition.options) { [body = definition.body] in try await body(arguments) }
    }
}

extension LocalOperationQueue {
    /// Adds an operation from a definition.
    ///
    /// - Parameters:
    ///   - definition: name, options and body.
    ///   - arguments: what the body gets.
    /// - Returns: the operation.
    @discardableResult
    public func add<Arguments: Sendable, Output: Sendable>(
        _ definition: OperationDefinition<Arguments, Output>,
        with arguments: Arguments
    ) -> ValueOperation<Output> {
        add(definition.options) { [body = definition.body] in try await body(arguments) }
    }
}

extension OperationDefinition where Arguments: Decodable, Output: Encodable {
    /// The definition for a worker's registry, with arguments and result as JSON. Only the time limit of the options is carried over; the
    /// rest belongs to the enqueued operation.
    ///
    /// - Parameter retryPolicy: attempts and pauses, unless the producer says otherwise.
    package func handler(retryPolicy: RetryPolicy = RetryPolicy()) -> OperationHandler {
        OperationHandler(name: name, retryPolicy: retryPolicy, runTimeout: options.runTimeout) { [body] arguments, _ in
            let arguments = try JSONDecoder().decode(Arguments.self, from: Data(arguments))
            return Array(try JSONEncoder().encode(try await body(arguments)))
        }
    }
}

extension OperationDefinition where Arguments: Decodable, Output == Void {
    /// The definition for a worker's registry, with arguments as JSON and no result. See the one with a result.
    ///
    /// - Parameter retryPolicy: attempts and pauses, unless the producer says otherwise.
    package func handler(retryPolicy: RetryPolicy = RetryPolicy()) -> OperationHandler {
        OperationHandler(name: name, retryPolicy: retryPolicy, runTimeout: options.runTimeout) { [body] arguments, _ in
            try await body(JSONDecoder().decode(Arguments.self, from: Data(arguments)))
            return []
        }
    }
}
