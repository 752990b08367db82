/// What goes from a producer to the broker.

/// One operation on its way into a queue. Times are durations: only the server's clock makes instants of them.
package struct NewOperation: Sendable, Equatable {
    package var id: OperationID
    package var tracked: Bool
    package var priority: OperationPriority
    /// Milliseconds until it may start; 0 = at once. A delayed operation is always tracked.
    package var delayMilliseconds: Int64
    /// Milliseconds after which it is no longer started; 0 = never.
    package var expiresMilliseconds: Int64
    /// An encoded `OperationEnvelope`.
    package var envelope: [UInt8]
    /// nil = it has nothing to do with others.
    package var links: OperationLinks? { didSet { tracked = tracked || links != nil } }

    package init(
        id: OperationID = OperationID(),
        tracked: Bool = true,
        priority: OperationPriority = .normal,
        delayMilliseconds: Int64 = 0,
        expiresMilliseconds: Int64 = 0,
        envelope: [UInt8],
        links: OperationLinks? = nil
    ) {
        self.id = id
        self.tracked = tracked || delayMilliseconds > 0 || links != nil
        self.links = links
        self.priority = priority
        self.delayMilliseconds = delayMilliseconds
        self.expiresMilliseconds = expiresMilliseconds
        self.envelope = envelope
    }

    private var header: OperationHeader {
        OperationHeader(
            id: id,
            tracked: tracked,
            linked: links != nil,
            hasLimitKey: links?.limitKey != nil,
            priority: priority,
            readyAt: delayMilliseconds,
            expiresAt: expiresMilliseconds
        )
    }

    /// Header with durations, then the envelope: what a lane holds, but for the times.
    package var element: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(elementByteCount)
        header.write(into: &bytes)
        return bytes + envelope
    }

    package var elementByteCount: Int { OperationHeader.byteCount + envelope.count }

    /// Whether both headers begin alike, so that the enqueue script takes their front once for both.
    package func hasFront(of other: NewOperation) -> Bool {
        tracked == other.tracked && (links == nil) == (other.links == nil)
            && (links?.limitKey == nil) == (other.links?.limitKey == nil) && priority == other.priority
            && delayMilliseconds == other.delayMilliseconds
            && expiresMilliseconds == other.expiresMilliseconds
    }

    /// Appends the `OperationHeader.frontByteCount` bytes of the header's front.
    package func writeFront(into bytes: inout [UInt8]) { header.writeFront(into: &bytes) }

    /// Bytes that the enqueue script takes of each operation: its id and its envelope.
    package var bodyByteCount: Int { OperationID.characterCount + envelope.count }

    /// Appends the id and the envelope.
    package func writeBody(into bytes: inout [UInt8]) {
        FieldWriter.append(id, to: &bytes)
        bytes += envelope
    }
}

/// What became of one operation of an enqueue call.
package enum EnqueueOutcome: Sendable, Equatable {
    case created
    /// An operation with this id is there already; nothing was changed.
    case exists
    /// It was not enqueued: this operation has its unique key.
    case taken(by: OperationID)
    /// It was not enqueued: more operations wait for its unique key than it may supersede at once.
    case crowded
    /// It was not enqueued: it is to wait for this operation, which is not in the queue.
    case unknownDependency(OperationID)
    /// It was not enqueued: this group takes no more members, or is none.
    case closedGroup(OperationID)
    /// It was not enqueued: the run that it belongs to has ended, or its worker does not hold it any more.
    case staleRun
}

extension NewOperation {
    /// What it costs the server, in untracked operations.
    fileprivate var effort: Int {
        if let links { return 5 + 2 * links.after.count }
        return tracked ? 2 : 1
    }
}

/// What a call carries.
package struct EnqueueLoad {
    private static let mostBytes = 1 << 18
    private var bytes = 0
    private var effort = 0

    package init() {}

    /// Adds an operation, if there is room for it; for the first one there always is.
    ///
    /// - Returns: whether it was added.
    package mutating func add(_ operation: NewOperation) -> Bool {
        let after = (bytes: bytes + operation.elementByteCount, effort: effort + operation.effort)
        guard effort == 0 || (after.bytes <= Self.mostBytes && after.effort <= Defaults.batch) else { return false }
        (bytes, effort) = after
        return true
    }
}

/// Cuts operations into calls of at most `Defaults.batch`, half as many tracked ones, and 256 KiB, so that no call keeps the server
/// busy for long.
package struct EnqueueBatches: Sequence, IteratorProtocol {
    private var rest: ArraySlice<NewOperation>

    package init(_ operations: [NewOperation]) { rest = operations[...] }

    package mutating func next() -> ArraySlice<NewOperation>? {
        guard !rest.isEmpty else { return nil }
        var load = EnqueueLoad()
        let end = rest.firstIndex { !load.add($0) } ?? rest.endIndex
        defer { rest = rest[end...] }
        return rest[..<end]
    }
}

extension ProducerBroker {
    package func enqueueAll(
        _ operations: [NewOperation],
        queue: String,
        progress: (Int) -> Void
    ) async throws -> [EnqueueOutcome] {
        var outcomes: [EnqueueOutcome] = []
        outcomes.reserveCapacity(operations.count)
        for batch in EnqueueBatches(operations) {
            outcomes += try await enqueue(Array(batch), queue: queue)
            progress(outcomes.count)
        }
        return outcomes
    }
}
