import Operations
import Synchronization

/// Runs steps in this process.
final class LocalQueues: StepQueues {
    let downloads = LocalOperationQueue(name: "downloads", maxConcurrentOperationCount: PipelineQueue.downloads.limit)
    let images = LocalOperationQueue(name: "images", maxConcurrentOperationCount: PipelineQueue.images.limit)
    private let operations = Mutex<[OperationID: LocalOperation]>([:])

    func add<Work: DistributedOperation>(
        _ work: Work,
        to queue: PipelineQueue,
        after dependencies: [OperationDependency]
    ) throws -> Step<Work.Output> {
        let (id, operation) = (OperationID(), ValueOperation(running: work))
        try operations.withLock { operations in
            for dependency in dependencies {
                guard let earlier = operations[dependency.id] else { continue }
                try operation.addDependency(earlier, onFailure: dependency.policy)
            }
            operations[id] = operation
        }
        try self[queue].add(operation)
        return Step(dependency: OperationDependency(id)) {
            let state = try await operation.waitUntilFinished()
            do {
                return Step.End(state: state, result: .success(try await operation.value))
            } catch {
                return Step.End(state: state, result: .failure(error), reason: "\(error)")
            }
        }
    }

    private subscript(queue: PipelineQueue) -> LocalOperationQueue {
        switch queue {
        case .downloads: downloads
        case .images: images
        }
    }
}
