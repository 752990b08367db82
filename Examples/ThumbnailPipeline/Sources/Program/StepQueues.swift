import Operations

/// A queue of the pipeline.
enum PipelineQueue: String, Sendable, CaseIterable {
    case downloads, images

    /// The most operations that run at once: four requests to the network, or two threads for pictures.
    var limit: Int {
        switch self {
        case .downloads: 4
        case .images: 2
        }
    }
}

/// A place to run the steps of a graph: this process, or workers.
protocol StepQueues: Sendable {
    /// Adds a step that depends on steps added to these queues before.
    func add<Work: DistributedOperation>(
        _ work: Work,
        to queue: PipelineQueue,
        after dependencies: [OperationDependency]
    ) async throws -> Step<Work.Output>
}

/// An added step. Other steps can depend on it.
struct Step<Output: Sendable>: OperationDependencyConvertible {
    /// The end of a step.
    struct End: Sendable {
        let state: OperationState
        let result: Result<Output, any Error>
        /// The reason of a failure; empty = no failure.
        var reason = ""

        var output: Output? { try? result.get() }
    }

    let dependency: OperationDependency
    /// Waits until the step has ended.
    let end: @Sendable () async throws -> End
}
