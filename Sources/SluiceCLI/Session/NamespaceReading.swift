import Operations
import Sluice
import SluiceMonitor

extension SluiceClient {
    /// The whole namespace, read now.
    func snapshot(executingRows: Int) async throws -> NamespaceSnapshot {
        let start = ContinuousClock.now
        return try await broker.namespaceSnapshot(executingRows: executingRows) { ContinuousClock.now - start }
    }

    /// One queue that is known.
    ///
    /// - Throws: `CLIError` with `.notFound` and what may have been meant.
    func knownQueue(_ queue: String) async throws {
        let known = try await broker.queues()
        guard known.contains(queue) else { throw CLIError.unknownQueue(queue, known: known) }
    }
}
