import Operations
import ServiceLifecycle

/// Cancels a wait when the service that it is in is asked to shut down, since the shutdown would wait for it.
///
/// In the body of an operation it goes on: the worker lets bodies end, within its drain time-out.
func cancelledAtShutdown<Result: Sendable>(
    _ wait: @escaping @Sendable () async throws -> Result
) async throws -> Result {
    guard LocalOperation.current == nil else { return try await wait() }
    return try await cancelWhenGracefulShutdown(wait)
}
