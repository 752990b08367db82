import Operations

extension SluiceClient {
    /// Runs an operation for each element on the workers, and returns what these return, in the order of the elements: a fan-out and its fan-in, as a task
    /// group would do it in one process.
    ///
    /// ```swift
    /// let sizes = try await sluice.map(pages, .queue("sync")) { Sync(page: $0) }
    /// ```
    ///
    /// The operations are enqueued in bulk. The call cancels those that it has added and that have not ended if one of them does not finish, if
    /// its task is cancelled, or if, outside of operations, its service is asked to shut down. There is no limit in time, even while no
    /// worker runs: after five seconds without one, the client's logger gets a warning.
    ///
    /// - Parameters:
    ///   - elements: any number of them.
    ///   - options: of each operation: queue, priority, unique key and so on.
    ///   - isolation: where `operation` runs: that of the caller.
    ///   - operation: makes the operation of an element.
    /// - Returns: one output for each element, in order.
    /// - Throws: as the enqueue of many operations, and what `operation` throws; as `OperationHandle.value` of the first operation that is seen to have
    ///   ended otherwise than finished; `CancellationError` when the task is cancelled or its service is asked to shut down.
    public func map<Elements: Sequence, Body: DistributedOperation>(
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

    private func values<Body: DistributedOperation>(of handles: [OperationHandle<Body>]) async throws -> [Body.Output] {
        guard let queue = handles.first?.queue else { return [] }
        for handle in handles { try await handle.reference.stored() }
        let ids = handles.map(\.id)
        let outcome = try await untilShutdown {
            try await unserved.during(waitsIn: queue) { try await firstFailure(of: ids, queue) }
        }
        guard let failed = outcome else { throw CancellationError() }
        if let failed {
            // Throws how it has ended, unless it was tried again meanwhile.
            _ = try await handles[failed].value
            return try await values(of: handles)
        }
        var outputs: [Body.Output] = []
        outputs.reserveCapacity(handles.count)
        for start in stride(from: 0, to: ids.count, by: Defaults.batch) {
            let part = start..<min(start + Defaults.batch, ids.count)
            for (index, detail) in zip(part, try await broker.details(Array(ids[part]), queue: queue)) {
                guard let detail else { throw handles[index].reference.notFound }
                outputs.append(try Body.decode(result: detail.result ?? []))
            }
        }
        return outputs
    }

    /// Waits until all have ended, or one of them otherwise than finished.
    ///
    /// - Returns: the place of that one; nil = all have finished.
    private func firstFailure(of ids: [OperationID], _ queue: String) async throws -> Int? {
        let (failures, continuation) = AsyncStream<Int>.makeStream(bufferingPolicy: .bufferingOldest(1))
        let look: @Sendable ([OperationState?]) -> Void = { states in
            let failed = states.firstIndex { $0.map { $0.isTerminal && $0 != .finished } ?? true }
            if let failed { continuation.yield(failed) }
        }
        // The stream ends with the wait, whatever ends that; a failure ends both.
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

    /// Also when the task is cancelled: the cancel goes on without it.
    private func cancelRest<Body>(of handles: [OperationHandle<Body>], because error: any Error) async {
        let new = handles.filter(\.isNew)
        guard let queue = new.first?.queue else { return }
        let reason =
            error is CancellationError
            ? "what has waited for it was cancelled" : "another one of the same map has failed"
        await Task { _ = try? await cancel(new.map(\.id), queue: queue, reason: reason) }.value
    }
}
