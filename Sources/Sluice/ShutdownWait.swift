import ServiceLifecycle

/// Cancels a wait when the service that it is in is asked to shut down, since the shutdown would wait for it.
///
/// A wait in the body of an operation goes on: bodies run in tasks of their own, which a worker lets end within its drain time-out.
///
/// - Returns: nil = the shutdown has ended the wait.
/// - Throws: what the wait throws.
func untilShutdown<Result: Sendable>(_ wait: @escaping @Sendable () async throws -> Result) async throws -> Result? {
    do {
        return try await cancelWhenGracefulShutdown {
            let result = try await wait()
            // Some waits return early.
            try Task.checkCancellation()
            return result
        }
    } catch is CancellationError where !Task.isCancelled { return nil }
}
