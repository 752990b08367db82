import Operations

extension WorkerCommand {
    /// The request in words: `quiet`, `slots 4`.
    package var word: String {
        switch self {
        case .quiet: "quiet"
        case .resume: "resume"
        case .stop: "stop"
        case .slots(let count): "slots \(count)"
        }
    }
}

extension MonitorBroker {
    /// Waits until Redis answers about a queue, so that the next change is sent at once.
    package func requireAnswer(of queue: String) async throws { _ = try await snapshot(queue: queue, executingRows: 0) }
}

extension OperatorBroker {
    /// Stores a request to a worker in each of its queues.
    ///
    /// - Returns: false if the worker has ended.
    package func control(_ command: WorkerCommand, worker: WorkerSummary, by: String) async throws -> Bool {
        var isStored = false
        for queue in worker.queues {
            if try await control(command, worker: worker.id, by: by, queue: queue) { isStored = true }
        }
        return isStored
    }
}

extension WorkerSummary {
    /// Returns the outcome of a request to the worker, as a sentence.
    package func answer(to command: WorkerCommand, isStored: Bool) -> String {
        guard isStored else { return "\(label): has ended meanwhile" }
        if isLost { return "\(label): \(command.word), if it comes back (it is lost)" }
        return "\(label): \(command.word), with its next heartbeat"
    }
}
