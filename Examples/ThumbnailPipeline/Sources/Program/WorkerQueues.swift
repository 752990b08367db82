import Operations
import Sluice

/// Runs steps on workers.
struct WorkerQueues: StepQueues {
    private let sluice: SluiceClient

    /// Sets the limits of the queues, which hold for all workers together.
    init(_ sluice: SluiceClient) async throws {
        self.sluice = sluice
        for queue in PipelineQueue.allCases {
            try await sluice.limit(queue: queue.rawValue, .concurrency(queue.limit))
        }
    }

    func add<Work: DistributedOperation>(
        _ work: Work,
        to queue: PipelineQueue,
        after dependencies: [OperationDependency]
    ) async throws -> Step<Work.Output> {
        let handle = try await sluice.enqueue(work, .queue(queue.rawValue), .after(dependencies))
        return Step(dependency: handle.dependency) {
            do {
                return Step.End(state: .finished, result: .success(try await handle.value))
            } catch let error as OperationsError where [.dead, .cancelled, .expired].contains(error.code) {
                let status = try await handle.status()
                let reason = status.lastFailure?.message ?? error.message
                return Step.End(state: status.state, result: .failure(error), reason: reason)
            }
        }
    }
}
