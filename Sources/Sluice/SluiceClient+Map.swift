import Operations

extension SluiceClient {
    /// Runs one operation per element on the workers, and returns the outputs in the order of the elements.
    ///
    /// Works like a task group in one process: a fan-out and its fan-in.
    ///
    /// ```swift
    /// let sizes = try await sluice.map(pages, .queue("sync")) { Sync(page: $0) }
    /// ```
    ///
    /// The operations are enqueued in bulk. If an operation does not finish, the call cancels the operations that it
    /// has added and that have not ended. The call also cancels them if its task is cancelled or, outside of
    /// operations, its service is asked to shut down. The wait has no limit, even while no worker runs: after five
    /// seconds without a worker, the client's logger gets a warning.
    ///
    /// - Parameters:
    ///   - elements: any number of elements.
    ///   - options: options of each operation: queue, priority, unique key and so on.
    ///   - isolation: the actor on which `operation` runs: that of the caller.
    ///   - operation: makes the operation of an element.
    /// - Returns: one output for each element, in order.
    /// - Throws: as the enqueue of many operations, and:
    ///   - Errors of `operation`.
    ///   - The error of `OperationHandle.value` for the first operation that is seen to end without finishing.
    ///   - `CancellationError` if the task is cancelled or its service is asked to shut down.
    public func map<Elements: Sequence, Body: OperationArguments>(
        _ elements: Elements,
        _ options: EnqueueOptions...,
        isolation: isolated (any Actor)? = #isolation,
        operation: (Elements.Element) throws -> Body
    ) async throws -> [Body.Output] {
        let bodies = try elements.map(operation)
        let handles = try await enqueue(bodies, EnqueueOptions(options))
        do { return try await values(of: handles) } catch {
            await cancelRest(of: handles, because: error)
            throw error
        }
    }

    private func values<Body: OperationArguments>(of handles: [OperationHandle<Body>]) async throws -> [Body.Output] {
        guard let queue = handles.first?.queue else { return [] }
        for handle in handles { try await handle.reference.stored() }
        let ids = handles.map(\.id)
        let outcome = try await untilShutdown {
            try await unserved.during(waitsIn: queue) { try await firstFailure(of: ids, queue) }
        }
        guard let failed = outcome else { throw CancellationError() }
        if let failed {
            // Throws the error of that operation, unless it was retried meanwhile.
            _ = try await handles[failed].value
            return try await values(of: handles)
        }
        var outputs: [Body.Output] = []
        outputs.reserveCapacity(handles.count)
        for start in stride(from: 0, to: ids.count, by: SluiceDefaults.batch) {
            let part = start..<min(start + SluiceDefaults.batch, ids.count)
            for (index, detail) in zip(part, try await broker.details(Array(ids[part]), queue: queue)) {
                guard let detail else { throw handles[index].reference.notFound }
                outputs.append(try Body.decode(result: detail.result ?? []))
            }
        }
        return outputs
    }

    /// Waits until all operations have finished, or one has ended in another state.
    ///
    /// - Returns: the index of that operation; nil = all have finished.
    private func firstFailure(of ids: [OperationID], _ queue: String) async throws -> Int? {
        let (failures, continuation) = AsyncStream<Int>.makeStream(bufferingPolicy: .bufferingOldest(1))
        let look: @Sendable ([OperationState?]) -> Void = { states in
            let failed = states.firstIndex { $0.map { $0.isTerminal && $0 != .finished } ?? true }
            if let failed { continuation.yield(failed) }
        }
        // The end of the wait always ends the stream; a failure ends both.
        let wait = Task {
            defer { continuation.finish() }
            _ = try await broker.awaitEnd(of: ids, queue: queue, timeout: nil, progress: look)
        }
        let failed = await withTaskCancellationHandler {
            await failures.first { _ in true }
        } onCancel: {
            wait.cancel()
        }
        try Task.checkCancellation()
        wait.cancel()
        if failed == nil { try await wait.value }
        return failed
    }

    /// Cancels the operations that have not ended, in a new task: a cancel of this task must not stop it.
    private func cancelRest<Body>(of handles: [OperationHandle<Body>], because error: any Error) async {
        let new = handles.filter(\.isNew)
        guard let queue = new.first?.queue else { return }
        let reason =
            error is CancellationError
            ? "the task that waited for the result was cancelled" : "another operation of the same map failed"
        await Task { _ = try? await cancel(new.map(\.id), queue: queue, reason: reason) }.value
    }
}
