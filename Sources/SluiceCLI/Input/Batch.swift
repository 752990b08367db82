import Operations

/// Checked operations in the order of their lines. To save memory, requests are created one part at a time.
package struct Batch: Sendable {
    private(set) var parts: [BatchPart] = []

    package init(_ parts: [BatchPart] = []) { self.parts = parts }

    mutating func append(_ part: BatchPart) { parts.append(part) }

    package var count: Int { parts.reduce(0) { $0 + $1.count } }

    /// A request of each kind, without id, envelope and line. A kind can occur in several parts.
    var kinds: some Sequence<EnqueueInput> { parts.lazy.flatMap(\.kinds) }

    /// The requests. Each iteration creates them again, with new ids unless the producer has chosen the ids.
    package var requests: some Sequence<EnqueueInput> { parts.lazy.flatMap { $0.requests() } }

    var queues: [String] { Set(kinds.map(\.queue)).sorted() }

    /// The queues with the names that their workers must handle, at most 100 pairs.
    var namesAndQueues: [(queue: String, name: String)] {
        var pairs: Set<[String]> = []
        for kind in kinds where pairs.count < 100 { pairs.insert([kind.queue, kind.name]) }
        return pairs.map { ($0[0], $0[1]) }
    }

    /// Whether an operation names a group, another operation or a start time. Redis must be asked about these before
    /// the batch is sent.
    var hasQuestions: Bool {
        kinds.contains {
            $0.startsAt != nil || $0.callback != nil || !$0.groups.isEmpty || $0.operation.links?.after.isEmpty == false
        }
    }

    /// Whether an operation has dependencies. Such an operation may have to be sent after later lines.
    var hasDependencies: Bool { kinds.contains { $0.operation.links?.after.isEmpty == false } }

    /// The parts that are sent together, with fewer calls and a single wait for durability. If operations have
    /// dependencies, each part is sent alone.
    var windows: [ArraySlice<BatchPart>] {
        var windows: [ArraySlice<BatchPart>] = []
        var (start, count) = (0, 0)
        let areAlone = hasDependencies
        for (index, part) in parts.enumerated() {
            if index > start, areAlone || count + part.count > BatchPart.most {
                windows.append(parts[start..<index])
                (start, count) = (index, 0)
            }
            count += part.count
        }
        return start < parts.count ? windows + [parts[start...]] : windows
    }

    func count(largerThan bytes: Int) -> Int { parts.reduce(0) { $0 + $1.count(largerThan: bytes) } }
}

/// A part of a batch. Stores the envelope of each operation, and common fields once for all operations of a kind.
package struct BatchPart: Sendable {
    /// The largest number of operations in a part.
    static let most = 20 * SluiceDefaults.batch
    /// The number of latest kinds to compare a new operation with. Lines of a few queues and names often alternate.
    private static let comparedKinds = 8
    /// The placeholder for the id in a kind.
    private static let noID = OperationID(key: "")

    private struct Entry {
        /// The end of the operation's envelope, at which the next envelope begins.
        var end: Int
        var kind: Int32
        var line: Int32
    }

    private(set) var kinds: [EnqueueInput] = []
    private var envelopes: [UInt8] = []
    private var entries: [Entry] = []
    /// The ids that producers have chosen, by the operation's index.
    private var ids: [Int: OperationID] = [:]
    /// The number of lines before the part.
    var linesBefore = 0

    package init() {}

    package init(_ requests: some Sequence<EnqueueInput>) { for request in requests { append(request) } }

    package var count: Int { entries.count }

    package mutating func append(_ request: EnqueueInput) {
        envelopes += request.operation.envelope
        if request.isNamed { ids[entries.count] = request.operation.id }
        entries.append(Entry(end: envelopes.count, kind: Int32(kind(of: request)), line: Int32(request.line)))
    }

    private mutating func kind(of request: EnqueueInput) -> Int {
        var kind = request
        (kind.operation.id, kind.operation.envelope, kind.line) = (Self.noID, [], 0)
        let near = kinds.indices.suffix(Self.comparedKinds)
        if let known = near.last(where: { kinds[$0] == kind }) { return known }
        kinds.append(kind)
        return kinds.count - 1
    }

    /// Releases unused capacity of the arrays.
    mutating func shrink() {
        envelopes = envelopes.withUnsafeBufferPointer { Array($0) }
        entries = entries.withUnsafeBufferPointer { Array($0) }
    }

    /// Creates the requests. Each call creates new ids unless the producer has chosen the ids.
    package func requests() -> [EnqueueInput] {
        var start = 0
        return entries.indices.map { index in
            let entry = entries[index]
            var request = kinds[Int(entry.kind)]
            request.line = linesBefore + Int(entry.line)
            request.operation.id = ids[index] ?? OperationID()
            request.operation.envelope = Array(envelopes[start..<entry.end])
            start = entry.end
            return request
        }
    }

    /// The operations with an id that the producer has chosen, in order.
    var named: [(line: Int, queue: String, id: OperationID)] {
        ids.sorted { $0.key < $1.key }.map { index, id in
            (linesBefore + Int(entries[index].line), kinds[Int(entries[index].kind)].queue, id)
        }
    }

    /// The lines of operations that expire before they are due.
    var linesNeverStarted: [Int] {
        let hopeless = Set(kinds.indices.filter { kinds[$0].neverStarts }.map(Int32.init))
        guard !hopeless.isEmpty else { return [] }
        return entries.filter { hopeless.contains($0.kind) }.map { linesBefore + Int($0.line) }
    }

    func count(largerThan bytes: Int) -> Int {
        guard envelopes.count > bytes else { return 0 }
        var start = 0
        return entries.count { entry in
            defer { start = entry.end }
            return entry.end - start > bytes
        }
    }
}
