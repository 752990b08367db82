import Foundation

/// A closure with a name, typed arguments and a typed result, from which any number of operations can be made.
///
/// ```swift
/// let resize = OperationDefinition("image.resize") { (path: String) in try await thumbnail(of: path) }
/// let image = try await queue.add(resize, with: "a.png").value
/// ```
public struct OperationDefinition<Arguments: Sendable, Output: Sendable>: Sendable {
    /// The name of each operation made from this definition.
    public let name: String
    /// The options of the operations, always with the definition's `name`.
    public var options: LocalOperationOptions
    /// Whether the operations run a `Foundation.Operation`, which may never end, and may cancel itself.
    let isForeign: Bool
    let make: @Sendable (Arguments, LocalOperationOptions, QueueCore) -> ValueOperation<Output>

    /// Gives a closure a name. A name that `NameRule` does not allow is a bug and ends the program.
    ///
    /// - Parameters:
    ///   - name: the name, as for `DistributedOperation.name`.
    ///   - options: the options of the operations.
    ///   - body: the work.
    public init(
        _ name: String,
        options: LocalOperationOptions = LocalOperationOptions(),
        body: @escaping @Sendable (Arguments) async throws -> Output
    ) {
        self.init(name, options: options, isForeign: false) { arguments, options, home in
            ValueOperation(options: options, home: home) { try await body(arguments) }
        }
    }

    init(
        _ name: String,
        options: LocalOperationOptions,
        isForeign: Bool,
        make: @escaping @Sendable (Arguments, LocalOperationOptions, QueueCore) -> ValueOperation<Output>
    ) {
        precondition(NameRule.allows(name), "\"\(name)\" is not allowed as an operation name: see NameRule")
        self.name = name
        self.options = options
        self.options.name = name
        self.isForeign = isForeign
        self.make = make
    }

    /// Gives a method of an object a name, as `NSInvocationOperation` does. The method's result or error is the
    /// operation's `value`.
    ///
    /// ```swift
    /// let sync = OperationDefinition("sync.page", target: syncer, method: Syncer.fetchPage)
    /// ```
    ///
    /// - Parameters:
    ///   - name: the name, as for `DistributedOperation.name`.
    ///   - target: the object, which the definition and its operations keep alive until they have ended.
    ///   - method: the method: `Type.method`.
    ///   - options: the options of the operations.
    public init<Target: Sendable>(
        _ name: String,
        target: Target,
        method: @escaping @Sendable (Target) -> @Sendable (Arguments) async throws -> Output,
        options: LocalOperationOptions = LocalOperationOptions()
    ) {
        self.init(name, options: options) { arguments in try await method(target)(arguments) }
    }

    /// Gives a blocking closure a name. The closure runs on a real thread. See `ValueOperation.blocking`.
    ///
    /// - Parameters:
    ///   - name: the name, as for `DistributedOperation.name`.
    ///   - options: the options of the operations.
    ///   - threads: the pool to run in.
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

extension OperationDefinition {
    /// Gives several closures one name. The closures get the same arguments and run concurrently on one slot. See
    /// `ValueOperation.concurrent`.
    ///
    /// - Parameters:
    ///   - name: the name, as for `DistributedOperation.name`.
    ///   - bodies: the closures.
    ///   - options: the options of the operations.
    public static func concurrent<Element: Sendable>(
        _ name: String,
        _ bodies: [@Sendable (Arguments) async throws -> Element],
        options: LocalOperationOptions = LocalOperationOptions()
    ) -> OperationDefinition<Arguments, [Element]> where Output == [Element] {
        OperationDefinition<Arguments, [Element]>(name, options: options, isForeign: false) {
            arguments,
            options,
            home in
            ValueOperation(options: options, home: home) {
                try await results(of: bodies.map { body in { try await body(arguments) } })
            }
        }
    }

    /// Makes an operation that is in no queue.
    ///
    /// - Parameter arguments: the arguments of the body.
    public func operation(with arguments: Arguments) -> ValueOperation<Output> { make(arguments, options, .outside) }
}

extension LocalOperationQueue {
    /// Adds an operation from a definition.
    ///
    /// - Parameters:
    ///   - definition: name, options and body.
    ///   - arguments: the arguments of the body.
    /// - Returns: the operation.
    @discardableResult
    public func add<Arguments: Sendable, Output: Sendable>(
        _ definition: OperationDefinition<Arguments, Output>,
        with arguments: Arguments
    ) -> ValueOperation<Output> {
        let operation = definition.make(arguments, definition.options, core)
        core.add(operation)
        return operation
    }
}
