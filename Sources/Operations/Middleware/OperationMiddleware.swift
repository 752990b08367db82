import Foundation

/// Code around the enqueues of a client and the runs of a worker: metrics, traces, a tenant, a database transaction.
///
/// ```swift
/// struct Tenants: OperationMiddleware {
///     func enqueue(
///         _ request: EnqueueRequest,
///         next: @escaping EnqueueRequest.Next
///     ) async throws -> [EnqueuedOperation] {
///         guard let tenant = Tenant.current else { throw NoTenant() }
///         var request = request
///         for index in request.operations.indices { request.operations[index].headers["tenant"] = tenant.name }
///         return try await next(request)
///     }
///
///     func execute(_ context: OperationContext, next: @escaping ExecuteNext) async throws {
///         var context = context
///         context.loggerMetadata["tenant"] = context.headers["tenant"].map { "\($0)" }
///         try await Tenant.$current.withValue(context.headers["tenant"].map(Tenant.init)) { try await next(context) }
///     }
/// }
/// ```
///
/// Give it to `SluiceConfiguration.middleware`; workers of that client use it, too. `OperationRegistry.use(_:)` adds
/// more for one worker. The first one in the list is the outermost. A client and a worker without middleware pay
/// nothing for it.
public protocol OperationMiddleware: Sendable {
    /// Called once for each call of `enqueue`, with all its operations, before anything is sent.
    ///
    /// Also called in the worker that enqueues the operation of a schedule. An error that you throw reaches the caller,
    /// and nothing is enqueued; the instant of a schedule is skipped then.
    ///
    /// - Parameters:
    ///   - request: the operations, whose headers and tags you may change.
    ///   - next: the next middleware, or the call of Redis; call it once.
    /// - Returns: the answer of `next`.
    /// - Throws: the error of `next`, or your own to refuse the operations.
    func enqueue(_ request: EnqueueRequest, next: @escaping EnqueueRequest.Next) async throws -> [EnqueuedOperation]

    /// Called around each run of a body: once for each attempt and each delivery.
    ///
    /// The task is cancelled when the body has to end. An error that you throw is handled as if the body had thrown it:
    /// the operation fails, and its retry policy decides. A run that returns without `next` has the result `null`.
    ///
    /// - Parameters:
    ///   - context: the run.
    ///   - next: the next middleware, or the body. It throws what the body throws.
    /// - Throws: the error of `next`, or your own.
    func execute(_ context: OperationContext, next: @escaping ExecuteNext) async throws
}

/// The next middleware around a run, or the body.
public typealias ExecuteNext = @Sendable (OperationContext) async throws -> Void

extension OperationMiddleware {
    /// Changes nothing.
    public func enqueue(_ request: EnqueueRequest, next: @escaping EnqueueRequest.Next) async throws
        -> [EnqueuedOperation]
    {
        try await next(request)
    }

    /// Changes nothing.
    public func execute(_ context: OperationContext, next: @escaping ExecuteNext) async throws {
        try await next(context)
    }
}

/// The operations of one call of `enqueue`, for middleware.
public struct EnqueueRequest: Sendable {
    /// The next middleware, or the call of Redis.
    public typealias Next = @Sendable (EnqueueRequest) async throws -> [EnqueuedOperation]

    /// One operation of the call.
    public struct Operation: Sendable {
        /// The id of the operation. Another operation may answer for it: see `EnqueuedOperation.id`.
        public let id: OperationID
        /// The name under which workers registered the operation.
        public var name: String { envelope.name }
        /// The schedule of the operation; nil = it has none.
        public var schedule: String? { envelope.schedule }
        /// The tags, with those of the caller.
        public var tags: [String] {
            get { envelope.tags }
            set { envelope.tags = newValue }
        }
        /// The headers, with those of the caller and, for an operation that a body enqueues, of its operation.
        public var headers: [String: String] {
            get { envelope.headers }
            set { envelope.headers = newValue }
        }
        var envelope: OperationEnvelope

        /// Decodes the arguments.
        ///
        /// - Parameter type: the type of the arguments.
        /// - Returns: the arguments.
        /// - Throws: `DecodingError` if they are of another type.
        public func arguments<Arguments: Decodable>(as type: Arguments.Type) throws -> Arguments {
            try JSONDecoder().decode(type, from: Data(envelope.arguments))
        }
    }

    /// The queue of all operations.
    public let queue: String
    /// The operations in their order. Pass on as many as you got.
    public var operations: [Operation]
    /// True if a worker enqueues the operation of a schedule that is due, so that no caller exists.
    public let isDue: Bool
}

/// The answer for one enqueued operation.
public struct EnqueuedOperation: Sendable {
    /// The id of the operation that stands in Redis now: the enqueued one, or the one that holds its unique key.
    public let id: OperationID
    /// False if an operation with this id or unique key already existed, if the client's buffer has the operation, or
    /// if another worker was faster to enqueue for the schedule.
    public let isNew: Bool

    /// Reads the headers of the operation that stands in Redis.
    package let headers: @Sendable () async throws -> [String: String]

    package init(
        id: OperationID,
        isNew: Bool,
        headers: @escaping @Sendable () async throws -> [String: String] = { [:] }
    ) {
        (self.id, self.isNew) = (id, isNew)
        self.headers = headers
    }
}
