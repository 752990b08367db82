import Operations

/// A group of operations of any queues; it ends when all its members have ended.
///
/// A group is itself an operation that never runs. The group is `blocked` while it is open or a member has not ended.
/// Then it is finished if all members have finished, cancelled if the group was cancelled, and otherwise dead. If the
/// members of a dead group are retried and finish, the group finishes as well. Other operations can wait for a group
/// with `.after(group)`, and a group can be a member of another group.
public struct OperationGroup: Sendable, OperationDependencyConvertible {
    /// The operation that represents the group.
    public let reference: OperationReference

    /// The id of the group.
    public var id: OperationID { reference.id }
    /// The queue that stores the group. Members may be in any queues.
    public var queue: String { reference.queue }
    /// False if a group with this id existed before.
    public var isNew: Bool { reference.isNew }
    /// The group as a dependency, with the policy `cancel`.
    public var dependency: OperationDependency { reference.dependency }

    private var client: SluiceClient { reference.client }

    package init(_ reference: OperationReference) { self.reference = reference }

    /// Reads how many members the group has, and how many of them have ended.
    ///
    /// - Throws: `OperationsError` with `.notFound` if no group has this id, `.unavailable` if Redis cannot be reached.
    public func progress() async throws -> GroupProgress {
        guard let progress = GroupProgress(try await reference.detail()) else { throw isNone }
        return progress
    }

    /// The progress of the group now and after each change, until the group has ended; read twice a second.
    ///
    /// The sequence throws as `progress()` does, and `CancellationError` outside of operations if the service that
    /// reads it is asked to shut down.
    public var progressChanges: AsyncThrowingStream<GroupProgress, any Error> {
        AsyncThrowingStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let task = Task {
                do {
                    let end: Void? = try await untilShutdown { try await follow { continuation.yield($0) } }
                    continuation.finish(throwing: end == nil ? CancellationError() : nil)
                } catch { continuation.finish(throwing: error) }
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }

    private func follow(_ yield: (GroupProgress) -> Void) async throws {
        var last: GroupProgress?
        while !Task.isCancelled {
            let progress = try await progress()
            if progress != last { yield(progress) }
            if progress.state.isTerminal { break }
            last = progress
            // Only a pause: the next read shows whether Redis answers.
            _ = try? await client.broker.awaitEnd(of: [id], queue: queue, timeout: .milliseconds(500))
        }
    }

    /// Waits until the group is closed and all members have ended.
    ///
    /// - Parameter timeout: longest time to wait; nil = no limit.
    /// - Returns: the progress at the end, even if some members did not finish.
    /// - Throws: as `progress()`, and:
    ///   - `.timedOut` if the group has not ended in time; the group continues.
    ///   - `CancellationError` if the waiting task is cancelled or, outside of operations, its service is asked to shut
    ///     down; the group continues.
    @discardableResult
    public func ended(timeout: Duration? = nil) async throws -> GroupProgress {
        let deadline = Deadline(timeout)
        let ends = try await untilShutdown {
            try await client.broker.awaitEnd(of: [id], queue: queue, timeout: deadline?.left)
        }
        try Task.checkCancellation()
        let progress = try await progress()
        if progress.state.isTerminal { return progress }
        if ends == nil { throw CancellationError() }
        if let deadline { throw await reference.timedOut(deadline) }
        return progress
    }

    /// Adds operations that were enqueued before as members.
    ///
    /// - Parameter operations: tracked operations of any queues.
    /// - Throws: `OperationsError`:
    ///   - `.refused` if the group has finished, was cancelled or would have more than 100,000 members.
    ///   - `.notFound` if the group or an operation does not exist.
    ///   - `.invalidOption` if an operation waits for the group.
    ///   - `.unavailable` if Redis cannot be reached.
    public func add(_ operations: OperationReference...) async throws { try await add(operations) }

    /// Adds operations that were enqueued before as members; see `add(_:)`.
    ///
    /// - Parameter operations: tracked operations of any queues.
    public func add(_ operations: [OperationReference]) async throws {
        try await client.add(operations.map { DependencyName($0.id, queue: $0.queue) }, to: self)
    }

    /// Closes the group: it ends when its current members have ended. While one of them runs, others can still be
    /// added.
    ///
    /// - Throws: `OperationsError` with `.notFound` if no group has this id, `.unavailable` if Redis cannot be reached.
    public func close() async throws {
        switch try await client.broker.closeGroup(id, by: SluiceClient.identity, queue: queue) {
        case .unknown: throw reference.notFound
        case .otherKind: throw isNone
        // The group is closed already, or the operation is no group: then `progress` throws.
        default: _ = try await progress()
        }
    }

    /// Cancels the group and all its members. The group takes no more members, and ends as cancelled after its last
    /// member.
    ///
    /// - Parameter reason: for people; stored with the group and its members.
    /// - Returns: the effect of the cancel.
    /// - Throws: `OperationsError` with `.unavailable` if Redis cannot be reached. Some of the members may be cancelled
    ///   then; workers continue with the others.
    @discardableResult
    public func cancel(reason: String = "") async throws -> CancelResult { try await reference.cancel(reason: reason) }

    /// Retries all members that have ended without finishing, also members of groups in this group. A dead group then
    /// waits for them, and may still finish.
    ///
    /// - Returns: `done` if a member is retried; `refused` if no member can be retried or the group was cancelled.
    /// - Throws: `OperationsError` with `.unavailable` if Redis cannot be reached. Some of the members may be retried
    ///   then.
    @discardableResult
    public func retry() async throws -> ChangeResult { try await client.retry([id], queue: queue)[0] }

    private var isNone: OperationsError {
        OperationsError(.notFound, "operation \(id) in queue \(queue) is not a group", id: id)
    }
}

extension EnqueueOptions {
    /// Makes the operation a member of a group of any queue. The group does not end before the operation.
    ///
    /// ```swift
    /// let nightly = try await sluice.openGroup("nightly")
    /// for page in pages { try await sluice.enqueue(Sync(page: page), .group(nightly)) }
    /// try await nightly.close()
    /// ```
    ///
    /// If the enqueue finds an existing operation (by id or unique key), that operation becomes the member. A member is
    /// always tracked.
    ///
    /// - Parameter group: an open group, or one with members that have not ended. An operation enters at most 8 groups.
    public static func group(_ group: OperationGroup) -> EnqueueOptions {
        var options = EnqueueOptions()
        options.groups = [DependencyName(group.id, queue: group.queue)]
        return options
    }
}
