import Operations
import Synchronization

/// The group in the body of `SluiceClient.withGroup`; adds members to it.
public final class OpenGroup: Sendable {
    /// How long workers wait for a sign of life from the opener, which sends one three times as often.
    static let lease: Duration = .seconds(60)

    /// The group.
    public let group: OperationGroup

    /// The members to send, in order. Consecutive operations of one type with the same options are sent in bulk.
    private let batches = Mutex<[any SendableBatch]>([])
    private var client: SluiceClient { group.reference.client }

    init(_ group: OperationGroup) { self.group = group }

    /// Adds an operation as a member. The group sends it with many others when the body returns.
    ///
    /// - Parameters:
    ///   - operation: the member.
    ///   - options: queue, priority, delay and so on.
    public func add<Body: OperationArguments>(_ operation: Body, _ options: EnqueueOptions...) {
        add([operation], EnqueueOptions(options))
    }

    /// Adds operations as members. The group sends them when the body returns.
    ///
    /// - Parameters:
    ///   - operations: the members.
    ///   - options: the options of each member.
    public func add<Body: OperationArguments>(_ operations: [Body], _ options: EnqueueOptions...) {
        add(operations, EnqueueOptions(options))
    }

    private func add<Body: OperationArguments>(_ operations: [Body], _ options: EnqueueOptions) {
        let batch = MemberBatch(operations, EnqueueOptions(options, .group(group)))
        batches.withLock { batches in
            let last = batches.last as? MemberBatch<Body>
            if let joined = last?.joined(with: batch) {
                batches[batches.count - 1] = joined
            } else {
                batches.append(batch)
            }
        }
    }

    /// Enqueues an operation at once as a member.
    ///
    /// - Parameters:
    ///   - operation: the member.
    ///   - options: queue, priority, delay and so on.
    /// - Returns: a handle to wait for the result, and to follow or cancel the operation.
    /// - Throws: as `SluiceClient.enqueue(_:_:)`.
    @discardableResult
    public func enqueue<Body: OperationArguments>(
        _ operation: Body,
        _ options: EnqueueOptions...
    ) async throws -> OperationHandle<Body> {
        try await client.enqueue(operation, EnqueueOptions(options), .group(group))
    }

    /// Sends the members that were added so far, and returns when they are enqueued.
    ///
    /// - Throws: as the enqueue of many operations. Members that were sent before the error stay enqueued.
    public func send() async throws {
        let batches = batches.withLock { batches in
            defer { batches = [] }
            return batches
        }
        for batch in batches { try await batch.send(client) }
    }

    /// Reports to the workers that the opener is alive, until the task is cancelled.
    func renewing() -> Task<Void, Never> {
        let (id, queue, client) = (group.id, group.queue, client)
        return Task {
            while !Task.isCancelled {
                try? await Task.sleep(for: Self.lease / 3)
                if Task.isCancelled { return }
                _ = try? await client.broker.change(
                    NeedsChange(id, part: .part),
                    by: SluiceClient.identity,
                    queue: queue
                )
            }
        }
    }
}

private protocol SendableBatch: Sendable {
    func send(_ client: SluiceClient) async throws
}

/// Operations of one type with the same options.
private struct MemberBatch<Body: OperationArguments>: SendableBatch {
    private var operations: [Body]
    private let options: EnqueueOptions

    init(_ operations: [Body], _ options: EnqueueOptions) { (self.operations, self.options) = (operations, options) }

    /// Returns both batches as one; nil if their options differ, or have an id and so are for one operation only.
    func joined(with other: MemberBatch) -> MemberBatch? {
        guard options == other.options, options.id == nil else { return nil }
        var joined = self
        joined.operations += other.operations
        return joined
    }

    func send(_ client: SluiceClient) async throws { try await client.enqueue(operations, options) }
}
