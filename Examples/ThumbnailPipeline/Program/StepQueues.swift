import Operations

/// A queue of the pipeline.
enum PipelineQueue: String, Sendable, CaseIterable {
    case downloads, images

    /// How many operations of it run at once: the network may have four requests, pictures two real threads.
    var limit: Int {
        switch self {
        case .downloads: 4
        case .images: 2
        }
    }
}

/// Where the steps of a graph run: in this process, or on workers.
protocol StepQueues: Sendable {
    /// Adds a step that waits for others, which were added before, to these queues.
    func add<Work: DistributedOperation>(
        _ work: Work,
        to queue: PipelineQueue,
        after dependencies: [Dependency]
    ) async throws -> Step<Work.Output>
}

/// A step that was added. Others can wait for it.
struct Step<Output: Sendable>: DependencyConvertible {
    /// How a step has ended.
    struct End: Sendable {
        let state: OperationState
        let result: Result<Output, any Error>
        /// Why it failed; empty if it did not.
        var reason = ""

        var output: Output? { try? result.get() }
    }

    let dependency: Dependency
    /// Waits until the step has ended.
    let end: @Sendable () async throws -> End
}
