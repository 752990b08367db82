import Operations
import Sluice
import SluiceMonitor
import SluiceOperator

extension SluiceClient {
    /// Reads the whole namespace.
    func snapshot(executingRows: Int) async throws -> NamespaceSnapshot {
        let start = ContinuousClock.now
        return try await broker.namespaceSnapshot(executingRows: executingRows) { ContinuousClock.now - start }
    }

    /// Checks that a queue exists.
    ///
    /// - Throws: `CLIError` with `.notFound`, and a similar name if one exists.
    func knownQueue(_ queue: String) async throws {
        let known = try await broker.queues()
        guard known.contains(queue) else { throw LookupFailure.unknownQueue(queue, known: known) }
    }
}
