import ServiceLifecycle

/// Ends a wait when its service is asked to shut down; otherwise the shutdown would wait as well.
///
/// A wait in the body of an operation continues. Bodies run in tasks of their own, and a worker lets them end within
/// its drain timeout.
///
/// - Returns: the result of the wait; nil if the shutdown ended the wait.
/// - Throws: any error of the wait.
func untilShutdown<Result: Sendable>(_ wait: @escaping @Sendable () async throws -> Result) async throws -> Result? {
    do {
        return try await cancelWhenGracefulShutdown {
            let result = try await wait()
            // Some waits return early when they are cancelled.
            try Task.checkCancellation()
            return result
        }
    } catch is CancellationError where !Task.isCancelled { return nil }
}
