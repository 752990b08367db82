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
    /// Somebody else's operation, which may never end, and may cancel itself.
    let isForeign: Bool
    let make: @Sendable (Arguments, LocalOperationOptions, QueueCore) -> ValueOperation<Output>

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
        precondition(NameRule.allows(name), "\"\(name)\" is no operation name: see NameRule")
        self.name = name
        self.options = options
        self.options.name = name
        self.isForeign = isForeign
        self.make = make
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

extension OperationDefinition {
    /// Several closures as one operation: they get the same arguments, run concurrently on its one slot, and it ends when the last of them
    /// has. See `ValueOperation.concurrent`.
    ///
    /// - Parameters:
    ///   - name: as for `DistributedOperation.name`.
    ///   - bodies: the closures.
    ///   - options: how its operations are to be run.
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

    /// An operation from this definition, in no queue yet.
    ///
    /// - Parameter arguments: what the body gets.
    public func operation(with arguments: Arguments) -> ValueOperation<Output> { make(arguments, options, .outside) }
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
        let operation = definition.make(arguments, definition.options, core)
        core.add(operation)
        return operation
    }
}
