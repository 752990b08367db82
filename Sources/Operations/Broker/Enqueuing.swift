/// The values that a producer sends to the broker.

/// An operation to enqueue. Times are durations: only the server's clock turns them into instants.
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
    /// The links to other operations; nil = no links.
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

    /// The header and the envelope, as in an element of a lane. The times in the header are durations from now.
    package var element: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(elementByteCount)
        header.write(into: &bytes)
        return bytes + envelope
    }

    package var elementByteCount: Int { OperationHeader.byteCount + envelope.count }

    /// Whether both headers have equal fronts, so that the enqueue script reads the front once for both.
    package func hasFront(of other: NewOperation) -> Bool {
        tracked == other.tracked && (links == nil) == (other.links == nil)
            && (links?.limitKey == nil) == (other.links?.limitKey == nil) && priority == other.priority
            && delayMilliseconds == other.delayMilliseconds
            && expiresMilliseconds == other.expiresMilliseconds
    }

    /// Appends the `OperationHeader.frontByteCount` bytes of the header's front.
    package func writeFront(into bytes: inout [UInt8]) { header.writeFront(into: &bytes) }

    /// The number of bytes that the enqueue script reads for each operation: its id and its envelope.
    package var bodyByteCount: Int { OperationID.characterCount + envelope.count }

    /// Appends the id and the envelope.
    package func writeBody(into bytes: inout [UInt8]) {
        FieldWriter.append(id, to: &bytes)
        bytes += envelope
    }
}

/// The outcome of enqueuing one operation.
package enum EnqueueOutcome: Sendable, Equatable {
    case created
    /// An operation with this id already exists; nothing was changed.
    case exists
    /// Not enqueued: this operation holds the unique key.
    case taken(by: OperationID)
    /// Not enqueued: more operations wait for the unique key than one call may supersede.
    case crowded
    /// Not enqueued: its dependency is not in the queue.
    case unknownDependency(OperationID)
    /// Not enqueued: this group accepts no more members, or is not a group.
    case closedGroup(OperationID)
    /// Not enqueued: its run has ended, or the worker no longer holds the run.
    case staleRun
}

extension NewOperation {
    /// The cost for the server, in untracked operations.
    fileprivate var effort: Int {
        if let links { return 5 + 2 * links.after.count }
        return tracked ? 2 : 1
    }
}

/// The operations of one call, by bytes and cost.
package struct EnqueueLoad {
    private static let mostBytes = 1 << 18
    private var bytes = 0
    private var effort = 0

    package init() {}

    /// Adds an operation if the call has room for it. The first one always fits.
    ///
    /// - Returns: whether the operation was added.
    package mutating func add(_ operation: NewOperation) -> Bool {
        let after = (bytes: bytes + operation.elementByteCount, effort: effort + operation.effort)
        guard effort == 0 || (after.bytes <= Self.mostBytes && after.effort <= SluiceDefaults.batch) else {
            return false
        }
        (bytes, effort) = after
        return true
    }
}

/// Splits operations into calls that keep the server busy only briefly.
///
/// A call has at most 256 KiB, and the cost of `SluiceDefaults.batch` untracked operations: half as many tracked ones,
/// fewer with links.
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
