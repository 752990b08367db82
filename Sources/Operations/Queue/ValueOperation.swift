import Foundation

/// A local operation with a result.
///
/// ```swift
/// let queue = LocalOperationQueue(maxConcurrentOperationCount: 3)
/// let icon = queue.add { try await download(url) }
/// let image = try await icon.value
/// ```
public final class ValueOperation<Output: Sendable>: LocalOperation, @unchecked Sendable {
    // Unchecked: only the operation's one executor task uses these fields, or callers after the end. Not a `Result`:
    // looking up its type would cost more than the rest of an empty operation.
    private var body: (@Sendable () async throws -> Output)?
    private var produced: Output?
    private var thrown: (any Error)?

    /// Makes an operation that is in no queue.
    ///
    /// - Parameters:
    ///   - options: the options of the operation.
    ///   - body: the work. Runs at most once per attempt, in a task that is cancelled with the operation.
    public convenience init(
        _ options: LocalOperationOptions = LocalOperationOptions(),
        body: @escaping @Sendable () async throws -> Output
    ) {
        self.init(options: options, home: .outside, body: body)
    }

    init(options: LocalOperationOptions, home: QueueCore, body: @escaping @Sendable () async throws -> Output) {
        self.body = body
        super.init(options: options, home: home)
    }

    init(home: QueueCore, body: @escaping @Sendable () async throws -> Output) {
        self.body = body
        super.init(home: home)
    }

    /// Waits for the end and returns the result.
    ///
    /// Do not wait inside an operation for another one that needs the same slot: with one slot neither would end. Use a
    /// dependency, which holds no slot.
    ///
    /// - Throws: the body's error if the operation is dead; `OperationsError` with `.cancelled` after a cancel, or with
    ///   `.timedOut` if the body did not end after its time limit. A cancel of the waiting task throws
    ///   `CancellationError` and does not cancel the operation.
    public var value: Output {
        get async throws {
            try await waitUntilFinished()
            return try finalResult.get()
        }
    }

    /// The result or the error of `value`; nil before the end.
    public var result: Result<Output, any Error>? { isFinished ? finalResult : nil }

    private var finalResult: Result<Output, any Error> {
        let ending = ending
        if ending.state == .finished, let produced { return .success(produced) }
        guard ending.state == .cancelled else { return .failure(ending.error ?? CancellationError()) }
        let reason = ending.cancelReason.map { $0.isEmpty ? "" : ": \($0)" } ?? ""
        return .failure(OperationsError(.cancelled, "the operation was cancelled\(reason)"))
    }

    override func perform() async -> BodyEnd {
        guard let body else { return .returned }
        do {
            produced = try await body()
            return .returned
        } catch let snooze as Snooze where maySnooze {
            return .snoozed(snooze.pause)
        } catch {
            let (error, decision) = judge(error)
            thrown = error
            return .threw(decision)
        }
    }

    override func discardBody() { body = nil }

    override var thrownError: (any Error)? { thrown }
}

extension LocalOperation {
    /// Decides the next step after an error. Calls the user's code outside of the lock.
    func judge(_ error: any Error) -> (any Error, RetryDecision) {
        let (isOverdue, isCancelled, extras, attempt) = locked { _ in
            (flags.contains(.overdue), flags.contains(.cancelRequested), self.extras, guardedAttempts)
        }
        guard let extras, !isCancelled else { return (error, .dead) }
        let error: any Error = isOverdue ? OperationsError.overdue(extras.runTimeout ?? .zero) : error
        return (error, extras.retry(error, attempt: attempt))
    }

    /// Whether a `Snooze` of the body counts. A body at its time limit has failed; in a worker the enqueued operation
    /// snoozes instead.
    var maySnooze: Bool { locked { _ in !flags.contains(.overdue) && extras?.context == nil } }

    /// The end of the operation. Valid after the end.
    var ending: LocalOperationEnding { locked { _ in guardedEnding } }

    /// The end of the operation, for a caller that holds the lock of its home.
    var guardedEnding: LocalOperationEnding {
        LocalOperationEnding(
            state: guardedState,
            error: guardedState == .finished ? nil : extras?.failure ?? thrownError,
            cancelReason: flags.contains(.cancelRequested) ? extras?.cancelReason ?? "" : nil,
            attempts: guardedAttempts
        )
    }
}
