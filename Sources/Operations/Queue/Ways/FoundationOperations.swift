import Foundation

extension ValueOperation where Output == Void {
    /// Makes a local operation that runs an existing `Foundation.Operation` unchanged. The operation may be synchronous
    /// (`main`), or asynchronous (`start`, with its own `isExecuting` and `isFinished`).
    ///
    /// - `start` is called on a real thread, so it may block.
    /// - The local operation ends with `isFinished`, which is read when `start` returns, and in the completion block.
    ///   Foundation calls that block when the subclass announces the change (`didChangeValue(forKey: "isFinished")`).
    ///   Without the announcement neither this nor Foundation's queue notices the end, and the operation ends at its
    ///   time limit.
    /// - A cancel of the local operation calls `cancel()`. If `isCancelled` is true at the end, the local operation
    ///   ends as `cancelled`. An operation that had not started is started after its cancel, as Foundation's queue
    ///   does, so that its completion block is called.
    /// - `queuePriority`, `qualityOfService` and `name` are copied now. Later changes have no effect.
    /// - An existing completion block is called. Do not set one after this call.
    /// - Dependencies between Foundation's operations are not copied; add them between the local operations. An
    ///   operation that is not ready at its start is dead. One that is not ready at its cancel is not started, so its
    ///   completion block is not called.
    /// - Only one local operation may run a Foundation operation: Foundation ends the process if an operation is
    ///   started twice.
    ///
    /// - Parameters:
    ///   - operation: an operation that is not started and in no `OperationQueue`.
    ///   - runTimeout: the longest time, after which the operation is cancelled; nil = no limit. Set a limit for an
    ///     asynchronous operation.
    ///   - grace: how long the operation may take to finish after the limit, before it is dead and its slot is free.
    ///   - threads: the pool in which `start` is called.
    /// - Throws: `OperationsError` with `.refused` if another local operation has the operation, or if it has started,
    ///   has finished or is in an `OperationQueue`.
    public convenience init(
        foundation operation: Operation,
        runTimeout: Duration? = nil,
        grace: Duration = SluiceDefaults.cancelGrace,
        on threads: BlockingThreads = .shared
    ) throws(OperationsError) {
        let claim = try FoundationClaim(operation)
        self.init(foundation: claim, runTimeout: runTimeout, grace: grace, on: threads, home: .outside) { _ in }
    }
}

extension ValueOperation {
    fileprivate convenience init<Work: Operation>(
        foundation claim: FoundationClaim<Work>,
        runTimeout: Duration?,
        grace: Duration,
        on threads: BlockingThreads,
        home: QueueCore,
        result: @escaping @Sendable (Work) throws -> Output
    ) {
        let options = LocalOperationOptions(foundation: claim.operation, runTimeout: runTimeout, grace: grace)
        self.init(options: options, home: home) {
            try await FoundationRun(claim).run(on: threads)
            return try result(claim.operation)
        }
        onEnd { ending in
            guard ending.attempts == 0 else { return }
            claim.operation.cancel()
            Task.detached { try await threads.run { try claim.start() } }
        }
    }
}

extension LocalOperationQueue {
    /// Adds an existing `Foundation.Operation`, which runs unchanged. See
    /// `ValueOperation.init(foundation:runTimeout:grace:on:)`.
    ///
    /// - Parameters:
    ///   - operation: an operation that is not started and in no `OperationQueue`.
    ///   - runTimeout: the longest time, after which the operation is cancelled; nil = no limit.
    ///   - grace: how long the operation may take to finish after the limit.
    /// - Returns: the local operation.
    /// - Throws: `OperationsError` with `.refused` if the operation was added before, has started, has finished or is
    ///   in an `OperationQueue`.
    @discardableResult
    public func add(
        foundation operation: Operation,
        runTimeout: Duration? = nil,
        grace: Duration = SluiceDefaults.cancelGrace
    ) throws(OperationsError) -> ValueOperation<Void> {
        let local = ValueOperation(
            foundation: try FoundationClaim(operation),
            runTimeout: runTimeout,
            grace: grace,
            on: .shared,
            home: core
        ) { _ in }
        core.add(local)
        return local
    }
}

extension LocalOperationOptions {
    fileprivate init(foundation operation: Operation, runTimeout: Duration?, grace: Duration) {
        self.init(
            name: operation.name,
            priority: OperationPriority(foundation: operation.queuePriority),
            qualityOfService: operation.qualityOfService == .default ? nil : operation.qualityOfService,
            runTimeout: runTimeout,
            grace: grace,
            // Other code may cancel the operation by Foundation's own method.
            retry: LocalRetry { error, _ in error is CancellationError ? .discard : .dead }
        )
    }
}

extension OperationDefinition {
    /// Gives an existing `Foundation.Operation` subclass a name.
    ///
    /// Each operation makes an instance from its arguments and runs it unchanged. See
    /// `ValueOperation.init(foundation:runTimeout:grace:on:)`.
    ///
    /// ```swift
    /// registry.register(
    ///     .foundation("legacy.upload") { (path: String) in UploadOperation(path) } result: { try $0.receipt() }
    /// )
    /// ```
    ///
    /// An instance takes the name, priority and quality of service of the options unless it sets its own. In a worker
    /// the priority is that of the enqueue. After a cancel or the time limit, the instance has the options' grace to
    /// finish; then the operation ends and its slot is free. An instance that cancelled itself ends the operation as
    /// cancelled.
    ///
    /// - Parameters:
    ///   - name: the name, as for `DistributedOperation.name`.
    ///   - options: the options of its operations. Set a time limit for an asynchronous subclass.
    ///   - threads: the pool in which `start` is called.
    ///   - make: makes a new instance that is not started and in no `OperationQueue`. If the instance is not new, the
    ///     local operation is dead (`OperationsError` with `.refused`).
    ///   - result: reads the result from the finished instance, or throws its error.
    public static func foundation<Work: Operation>(
        _ name: String,
        options: LocalOperationOptions = LocalOperationOptions(),
        on threads: BlockingThreads = .shared,
        _ make: @escaping @Sendable (Arguments) -> Work,
        result: @escaping @Sendable (Work) throws -> Output
    ) -> OperationDefinition {
        OperationDefinition(name, options: options, isForeign: true) { arguments, options, home in
            do throws(OperationsError) {
                let claim = try FoundationClaim(make(arguments))
                claim.operation.adopt(options)
                return ValueOperation(
                    foundation: claim,
                    runTimeout: options.runTimeout,
                    grace: options.grace,
                    on: threads,
                    home: home,
                    result: result
                )
            } catch {
                var options = options
                options.retry = .never
                return ValueOperation(options: options, home: home) { throw error }
            }
        }
    }
}

extension OperationDefinition where Output == Void {
    /// Gives an existing `Foundation.Operation` subclass without a result a name.
    ///
    /// - Parameters:
    ///   - name: the name, as for `DistributedOperation.name`.
    ///   - options: the options of its operations. Set a time limit for an asynchronous subclass.
    ///   - threads: the pool in which `start` is called.
    ///   - make: makes a new instance that is not started and in no `OperationQueue`.
    public static func foundation<Work: Operation>(
        _ name: String,
        options: LocalOperationOptions = LocalOperationOptions(),
        on threads: BlockingThreads = .shared,
        _ make: @escaping @Sendable (Arguments) -> Work
    ) -> OperationDefinition {
        foundation(name, options: options, on: threads, make) { _ in }
    }
}

extension Operation {
    /// Adopts the options that the operation does not set itself.
    fileprivate func adopt(_ options: LocalOperationOptions) {
        if name == nil { name = options.name }
        if queuePriority == .normal { queuePriority = QueuePriority(options.priority) }
        if qualityOfService == .default, let quality = options.qualityOfService { qualityOfService = quality }
    }
}

extension Operation.QueuePriority {
    /// Converts the priority to Foundation's.
    fileprivate init(_ priority: OperationPriority) {
        self =
            switch priority {
            case .veryHigh: .veryHigh
            case .high: .high
            case .normal: .normal
            case .low: .low
            case .veryLow: .veryLow
            }
    }
}

extension OperationPriority {
    /// Converts Foundation's `queuePriority`. A value between two steps becomes the step towards normal, as in
    /// Foundation.
    public init(foundation priority: Operation.QueuePriority) {
        self =
            switch priority.rawValue {
            case 8...: .veryHigh
            case 4...: .high
            case ...(-8): .veryLow
            case ...(-4): .low
            default: .normal
            }
    }
}

/// The right to start a Foundation operation, which only one object can hold.
///
/// Foundation ends the process if a started operation is not ready, was started before or is in an `OperationQueue`. So
/// the claim checks these conditions first. Other code may still change the operation between the check and the start.
private final class FoundationClaim<Work: Operation>: Sendable {
    let operation: Work

    /// - Throws: `OperationsError` with `.refused` if the operation is claimed or has begun.
    init(_ operation: Work) throws(OperationsError) {
        guard claimed.withLock({ $0.insert(ObjectIdentifier(operation)).inserted }) else {
            throw .refused(operation, "belongs to another local operation")
        }
        self.operation = operation
        // Read after the claim: an earlier claim may have run the operation until just now. If this throws, `deinit`
        // releases the claim.
        if operation.hasBegun { throw .refused(operation, "was started before, or is in an OperationQueue") }
    }

    // The operation is still referenced here, so another one cannot have its address yet.
    deinit { _ = claimed.withLock { $0.remove(ObjectIdentifier(operation)) } }

    /// Calls `start`, unless the operation has already finished, as a subclass may at its cancel.
    ///
    /// - Throws: `CancellationError` if the operation is cancelled and not ready; `OperationsError` with `.refused` if
    ///   it is not ready, or if other code has started it.
    func start() throws {
        if operation.isFinished { return }
        if operation.hasBegun { throw OperationsError.refused(operation, "was started by other code") }
        guard operation.isReady else {
            if operation.isCancelled { throw CancellationError() }
            throw OperationsError.refused(
                operation,
                "is not ready: add its dependencies to the local operations"
            )
        }
        operation.start()
    }
}

/// The Foundation operations that are claimed.
private let claimed = Guarded<Set<ObjectIdentifier>>([])

extension Operation {
    /// Whether the operation has started, has finished or was added to an `OperationQueue`. If Foundation is written in
    /// Swift, the last fact can only be read by reflection.
    fileprivate var hasBegun: Bool {
        if isExecuting || isFinished { return true }
        var mirror: Mirror? = Mirror(reflecting: self)
        while let current = mirror, current.subjectType != Operation.self { mirror = current.superclassMirror }
        guard let state = mirror?.children.first(where: { $0.label == "__state" }) else { return false }
        return "\(state.value)" != "initialized"
    }
}

/// One run of a Foundation operation.
///
/// The run uses the completion block, because key-value observing of any key exists only on Darwin.
private final class FoundationRun<Work: Operation>: Sendable {
    private let claim: FoundationClaim<Work>
    private let waiter = Guarded<Waiter>(.none)

    private enum Waiter {
        case none
        case waiting(CheckedContinuation<Void, Never>)
        case finished
    }

    init(_ claim: FoundationClaim<Work>) { self.claim = claim }

    private var operation: Work { claim.operation }

    func run(on threads: BlockingThreads) async throws {
        let local = LocalOperation.current
        try await withTaskCancellationHandler {
            observeEnd()
            // Foundation finishes a cancelled operation only after a start.
            let isFinished = try await threads.run(beginsWhenCancelled: true) { [claim] in
                try claim.start()
                return claim.operation.isFinished
            }
            if isFinished { finish() }
            await withCheckedContinuation { wait($0) }
        } onCancel: {
            LocalOperation.$inBody.withValue(local) { operation.cancel() }
        }
        if operation.isCancelled { throw CancellationError() }
    }

    private func observeEnd() {
        let own = operation.completionBlock
        operation.completionBlock = { [weak self] in
            own?()
            self?.finish()
        }
    }

    private func wait(_ continuation: CheckedContinuation<Void, Never>) {
        let isFinished = waiter.withLock { waiter -> Bool in
            if case .finished = waiter { return true }
            waiter = .waiting(continuation)
            return false
        }
        if isFinished { continuation.resume() }
    }

    private func finish() {
        let continuation = waiter.withLock { waiter -> CheckedContinuation<Void, Never>? in
            defer { waiter = .finished }
            guard case .waiting(let continuation) = waiter else { return nil }
            return continuation
        }
        continuation?.resume()
    }
}

extension OperationsError {
    fileprivate static func refused(_ operation: Operation, _ why: String) -> OperationsError {
        let name = operation.name.map { " " + quoted($0) } ?? ""
        return OperationsError(.refused, "the Foundation operation\(name) of type \(type(of: operation)) \(why)")
    }
}
