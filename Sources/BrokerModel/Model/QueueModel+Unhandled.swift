import Operations

/// Unhandled operations of one name, in the order in which they return: by lane, then by sequence.
struct UnhandledSet {
    /// The number of the set, which grows with each new set of the queue.
    var number: Int64
    var set = ScoredSet()
}

extension QueueModel {
    private static let sequences: Int64 = 1 << 44

    /// The rank of a score's lane; 0 is the highest lane.
    static func rank(ofScore score: Int64) -> Int64 { score / sequences }

    /// The score in a set of ready operations: by lane, then by sequence.
    static func placeScore(_ header: OperationHeader) -> Int64 {
        Int64(4 - header.priority.lane) * sequences + header.sequence
    }

    var unhandledCount: Int { unhandled.values.reduce(0) { $0 + $1.set.count } }

    /// The names in the order of Redis: those with most operations first.
    var unhandledInOrder: [(name: String, count: Int)] {
        Self.inOrder(unhandled).map { ($0.name, $0.set.count) }
    }

    static func inOrder(_ sets: [String: UnhandledSet]) -> [(name: String, set: ScoredSet)] {
        sets.map { ($0.key, $0.value.set) }.sorted { ($0.1.count, $0.0) > ($1.1.count, $1.0) }
    }

    /// The headers of the first operation of each name that a snapshot shows.
    var firstUnhandled: [OperationHeader] {
        unhandledInOrder.prefix(20).compactMap { name, _ in
            unhandled[name]?.set.first.flatMap { operations[$0.id]?.record.header }
        }
    }

    /// Sets a released operation aside as unhandled, and undoes its start. The operation must have a record. Returns
    /// false if the queue already has too many unhandled names.
    mutating func setAside(_ element: LaneElement, _ name: String) -> Bool {
        let id = element.id
        if unhandled[name] == nil {
            guard unhandled.count < SluiceDefaults.unhandledNames else { return false }
            newestUnhandled += 1
            unhandled[name] = UnhandledSet(number: newestUnhandled)
            effects.messages.append((nil, .unhandled(queue: queue, name: name)))
        }
        operations[id]?.record.state = .ready
        operations[id]?.record.startedAt = 0
        operations[id]?.unhandledName = name
        unhandled[name]?.set.insert(id, score: Self.placeScore(element.header))
        add("started", -1)
        event(id, .ready)
        if element.header.expiresAt > 0 {
            expiring.insert(id, score: element.header.expiresAt)
            announce(due: element.header.expiresAt)
        }
        return true
    }

    /// Takes a ready operation out of the set of its name, its limit key or its lane. A reference in a lane stays
    /// behind.
    mutating func leaveReady(_ id: OperationID) {
        guard let name = operations[id]?.unhandledName else {
            if !leaveKey(id) { stale += 1 }
            return
        }
        operations[id]?.unhandledName = nil
        leaveUnhandled(id, name)
    }

    private mutating func leaveUnhandled(_ id: OperationID, _ name: String) {
        unhandled[name]?.set.remove(id)
        if unhandled[name]?.set.count == 0 { unhandled[name] = nil }
    }

    /// Moves the first operations with these names to the heads of their lanes, in their order, up to about 256 KiB of
    /// records. The operations stay in their sets until `settle`.
    ///
    /// - Returns: the moved operations, with their names.
    mutating func readmit(_ names: [String], atMost limit: Int) -> [OperationID: String] {
        var (room, bytes) = (limit, 0)
        var moved: [OperationID: String] = [:]
        for name in names {
            guard let set = unhandled[name]?.set, room > 0 else { continue }
            let ids = set.entries.prefix(room).map(\.id).prefix { id in
                let size = OperationHeader.byteCount + (operations[id]?.record.envelope.count ?? 0)
                if bytes > 0, bytes + size > Self.replyBytes { return false }
                bytes += size
                return true
            }
            for id in ids.reversed() {
                guard let header = operations[id]?.record.header else { continue }
                let element = LaneElement(header: header, envelope: [])
                noteLarge(element)
                operations[id]?.unhandledName = nil
                if enterKey(id) {
                    leaveUnhandled(id, name)
                    continue
                }
                lanes[header.priority.lane].prepend(element)
                moved[id] = name
            }
            room -= ids.count
        }
        return moved
    }

    /// Ends a readmission after a claim. Moved operations that were not taken leave their lanes and stay in their sets;
    /// all others leave their sets.
    mutating func settle(_ moved: [OperationID: String]) {
        var moved = moved
        for lane in lanes.indices {
            // The head may also be a stale reference to one of these operations.
            while let header = lanes[lane].head?.header, operations[header.id]?.record.header == header,
                let name = moved.removeValue(forKey: header.id)
            {
                let id = header.id
                _ = lanes[lane].popFirst()
                operations[id]?.unhandledName = name
            }
        }
        for (id, name) in moved { leaveUnhandled(id, name) }
    }
}
