import Operations

/// A group of operations: work that belongs together, of any queues, and that ends when all of it has ended.
///
/// A group is an operation itself that never runs. It is `blocked` while it is open or members have not ended; then it is finished if all members
/// have, cancelled if the group was cancelled, otherwise dead. If members of a dead group are tried again and finish, the group finishes, too.
/// Others can wait for it by `.after(group)`, and it can be in another group.
public struct OperationGroup: Sendable, DependencyConvertible {
    /// The operation that the group is.
    public let reference: OperationReference

    /// Its id.
    public var id: OperationID { reference.id }
    /// The queue in which it is kept. Its members may be in any queues.
    public var queue: String { reference.queue }
    /// False if a group with this id was there before.
    public var isNew: Bool { reference.isNew }
    /// The group as something to wait for, with the policy `cancel`.
    public var dependency: Dependency { reference.dependency }

    private var client: SluiceClient { reference.client }

    package init(_ reference: OperationReference) { self.reference = reference }

    /// How many members it has, and how many of them have ended.
    ///
    /// - Throws: `OperationsError` with `.notFound` if there is no such group, `.unavailable` if Redis cannot be reached.
    public func progress() async throws -> GroupProgress {
        guard let progress = GroupProgress(try await reference.detail()) else { throw isNone }
        return progress
    }

    /// Its progress now and whenever it has changed, looked at twice a second, until the group has ended.
    ///
    /// The sequence throws as `progress()`, and ends early when its task is cancelled or, outside of operations, its service is asked to
    /// shut down.
    public var progressChanges: AsyncThrowingStream<GroupProgress, any Error> {
        AsyncThrowingStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let task = Task {
                do {
                    _ = try await untilShutdown { try await follow { continuation.yield($0) } }
                    continuation.finish()
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
            // Only a pause: whether Redis answers is seen by the next look.
            _ = try? await client.broker.awaitEnd(of: [id], queue: queue, timeout: .milliseconds(500))
        }
    }

    /// Waits until all members have ended and the group is closed.
    ///
    /// - Parameter timeout: longest time to wait; nil = without limit.
    /// - Returns: its progress then, also if members did not finish.
    /// - Throws: as `progress()`; `.timedOut` if it has not ended by then. `CancellationError` when the waiting task is cancelled or, outside
    ///   of operations, its service is asked to shut down; the group goes on.
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

    /// Lets operations that were enqueued before be members.
    ///
    /// - Parameter operations: tracked ones of any queues.
    /// - Throws: `OperationsError` with `.refused` if the group has finished, was cancelled or would have more than 100,000 members; `.notFound` if
    ///   the group or one of the operations is not there; `.invalidOption` if one of them waits for the group; `.unavailable` if Redis
    ///   cannot be reached.
    public func add(_ operations: OperationReference...) async throws { try await add(operations) }

    /// Lets operations that were enqueued before be members; see `add(_:)`.
    ///
    /// - Parameter operations: tracked ones of any queues.
    public func add(_ operations: [OperationReference]) async throws {
        try await client.add(operations.map { DependencyName($0.id, queue: $0.queue) }, to: self)
    }

    /// Closes the group: it ends when the members that it has have ended. While one of these runs, others can be added all the same.
    ///
    /// - Throws: `OperationsError` with `.notFound` if there is no such group, `.unavailable` if Redis cannot be reached.
    public func close() async throws {
        switch try await client.broker.closeGroup(id, by: SluiceClient.identity, queue: queue) {
        case .unknown: throw reference.notFound
        case .otherKind: throw isNone
        // It is closed, or no group.
        default: _ = try await progress()
        }
    }

    /// Cancels the group: it takes no more members, and all that it has are cancelled. It ends as cancelled when the last of them has ended.
    ///
    /// - Parameter reason: for people, kept with the group and its members.
    /// - Returns: what the cancel did.
    /// - Throws: `OperationsError` with `.unavailable` if Redis cannot be reached. A part of the members may be cancelled then; workers go on with it.
    @discardableResult
    public func cancel(reason: String = "") async throws -> CancelResult { try await reference.cancel(reason: reason) }

    /// Runs again all members that have ended without finishing, also of groups in it. A dead group waits for them then, and may still finish.
    ///
    /// - Returns: `done` if a member is tried again; `refused` if there is none, or the group was cancelled.
    /// - Throws: `OperationsError` with `.unavailable` if Redis cannot be reached. A part of the members may be tried again then.
    @discardableResult
    public func retry() async throws -> ChangeResult { try await client.retry([id], queue: queue)[0] }

    private var isNone: OperationsError {
        OperationsError(.notFound, "operation \(id) in queue \(queue) is no group", id: id)
    }
}

extension EnqueueOptions {
    /// Makes the operation a member of a group, in whatever queue that is kept. The group does not end before it.
    ///
    /// ```swift
    /// let nightly = try await sluice.openGroup("nightly")
    /// for page in pages { try await sluice.enqueue(Sync(page: page), .group(nightly)) }
    /// try await nightly.close()
    /// ```
    ///
    /// If the enqueue finds another operation (by id or unique key), that one is the member. An operation that is in a group is always tracked.
    ///
    /// - Parameter group: one that is open, or of which members have not ended; at most 8 for one operation.
    public static func group(_ group: OperationGroup) -> EnqueueOptions {
        var options = EnqueueOptions()
        options.groups = [DependencyName(group.id, queue: group.queue)]
        return options
    }
}
