import Operations

/// Checked operations in the order of their lines, in little memory: a part of them is made at a time.
package struct Batch: Sendable {
    private(set) var parts: [BatchPart] = []

    package init(_ parts: [BatchPart] = []) { self.parts = parts }

    mutating func append(_ part: BatchPart) { parts.append(part) }

    package var count: Int { parts.reduce(0) { $0 + $1.count } }

    /// One request of each kind, without id, envelope and line. A kind may occur in several parts.
    var kinds: some Sequence<EnqueueRequest> { parts.lazy.flatMap(\.kinds) }

    /// The requests, made anew each time: those without an id of their own get another one.
    package var requests: some Sequence<EnqueueRequest> { parts.lazy.flatMap { $0.requests() } }

    var queues: [String] { Set(kinds.map(\.queue)).sorted() }

    /// Queues with the names that their workers must handle: 100 pairs at most.
    var namesAndQueues: [(queue: String, name: String)] {
        var pairs: Set<[String]> = []
        for kind in kinds where pairs.count < 100 { pairs.insert([kind.queue, kind.name]) }
        return pairs.map { ($0[0], $0[1]) }
    }

    /// Whether one of them names a group, another operation or an instant, which Redis must be asked about before anything is sent.
    var hasQuestions: Bool {
        kinds.contains {
            $0.startsAt != nil || $0.callback != nil || !$0.groups.isEmpty || $0.operation.links?.after.isEmpty == false
        }
    }

    /// Whether one of them waits for others, and so may have to be sent behind what stands after it.
    var hasDependencies: Bool { kinds.contains { $0.operation.links?.after.isEmpty == false } }

    /// Parts that are sent together: few calls, and one wait for durability. Where some wait for others, each part is sent by itself.
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

/// Some operations of a batch. Of each, its envelope is kept; what it has in common with others is kept once.
package struct BatchPart: Sendable {
    /// Operations of the largest part.
    static let most = 20 * Defaults.batch
    /// How many kinds back an operation is compared: lines of a few queues and names often alternate.
    private static let comparedKinds = 8
    /// Stands in a kind for the id.
    private static let noID = OperationID(key: "")

    private struct Entry {
        /// The end of its envelope, and the beginning of the next one.
        var end: Int
        var kind: Int32
        var line: Int32
    }

    private(set) var kinds: [EnqueueRequest] = []
    private var envelopes: [UInt8] = []
    private var entries: [Entry] = []
    /// The ids that producers have chosen, by the number of the operation.
    private var ids: [Int: OperationID] = [:]
    /// The number of lines before its first one.
    var linesBefore = 0

    package init() {}

    package init(_ requests: some Sequence<EnqueueRequest>) { for request in requests { append(request) } }

    package var count: Int { entries.count }

    package mutating func append(_ request: EnqueueRequest) {
        envelopes += request.operation.envelope
        if request.isNamed { ids[entries.count] = request.operation.id }
        entries.append(Entry(end: envelopes.count, kind: Int32(kind(of: request)), line: Int32(request.line)))
    }

    private mutating func kind(of request: EnqueueRequest) -> Int {
        var kind = request
        (kind.operation.id, kind.operation.envelope, kind.line) = (Self.noID, [], 0)
        let near = kinds.indices.suffix(Self.comparedKinds)
        if let known = near.last(where: { kinds[$0] == kind }) { return known }
        kinds.append(kind)
        return kinds.count - 1
    }

    /// Gives back what its lists have in reserve.
    mutating func shrink() {
        envelopes = envelopes.withUnsafeBufferPointer { Array($0) }
        entries = entries.withUnsafeBufferPointer { Array($0) }
    }

    /// The requests, made anew each time: those without an id of their own get another one.
    package func requests() -> [EnqueueRequest] {
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

    /// The operations whose producer has chosen their id, in order.
    var named: [(line: Int, queue: String, id: OperationID)] {
        ids.sorted { $0.key < $1.key }.map { index, id in
            (linesBefore + Int(entries[index].line), kinds[Int(entries[index].kind)].queue, id)
        }
    }

    /// The lines of all that expire before they are due.
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
