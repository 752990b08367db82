import Operations
import Sluice
import Synchronization

/// The queue in which the syncs of this process access their stores. A program chooses the queue when it starts.
package enum DatabaseQueue {
    /// Runs an access and returns when it has ended. A cancel of the caller cancels it.
    package typealias Run = @Sendable (StoreAccess) async throws -> StoreAccess.Outcome

    private static let here = LocalOperationQueue(name: "database", maxConcurrentOperationCount: 1)
    private static let chosen = Mutex<Run>({ try await here.add($0).endAsPart() })

    /// Replaces the queue of this process by another one.
    package static func use(_ run: @escaping Run) { chosen.withLock { $0 = run } }

    static func run(_ access: StoreAccess) async throws -> StoreAccess.Outcome {
        let run = chosen.withLock { $0 }
        return try await run(access)
    }
}

extension ValueOperation {
    /// Waits for the end of an operation that is a part of the calling one.
    ///
    /// A cancel of the caller cancels the part, and the caller continues only after the part has ended. So two syncs
    /// never call the server or write at the same time.
    @discardableResult
    func endAsPart() async throws -> Output {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in onEnd { _ in continuation.resume() } }
        } onCancel: {
            cancel(reason: wholeIsCancelled)
        }
        try Task.checkCancellation()
        return try await value
    }
}

extension OperationHandle {
    /// Waits for the end of a part that any worker may run.
    @discardableResult
    package func endAsPart() async throws -> Body.Output {
        // The task does not end with the caller's task, but waits for the end of the operation.
        let end = Task { try await value }
        let result = await withTaskCancellationHandler {
            await end.result
        } onCancel: {
            Task { try await cancel(reason: wholeIsCancelled) }
        }
        try Task.checkCancellation()
        return try result.get()
    }
}

private let wholeIsCancelled = "what it was a part of was cancelled"
