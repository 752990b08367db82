import Operations

/// Unhandled operations of one name, in the order in which they come back: by lane, then by the fence under which they came.
struct UnhandledSet {
    /// Grows with each set of the queue.
    var number: Int64
    var set = ScoredSet()
}

extension QueueModel {
    private static let fences: Int64 = 1 << 44

    var unhandledCount: Int { unhandled.values.reduce(0) { $0 + $1.set.count } }

    /// The names with most operations first, as Redis orders them.
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

    /// Undoes the start of a released operation that has a record. False = there are too many names.
    mutating func setAside(_ element: LaneElement, _ fence: Int64, _ name: String) -> Bool {
        let id = element.id
        if unhandled[name] == nil {
            guard unhandled.count < Defaults.unhandledNames else { return false }
            newestUnhandled += 1
            unhandled[name] = UnhandledSet(number: newestUnhandled)
            effects.messages.append((nil, .unhandled(queue: queue, name: name)))
        }
        operations[id]?.record.state = .ready
        operations[id]?.record.startedAt = 0
        operations[id]?.unhandledName = name
        unhandled[name]?.set.insert(id, score: Int64(4 - element.header.priority.lane) * Self.fences + fence)
        add("started", -1)
        event(id, .ready)
        if element.header.expiresAt > 0 {
            expiring.insert(id, score: element.header.expiresAt)
            announce(due: element.header.expiresAt)
        }
        return true
    }

    /// A ready operation leaves its place: the set of its name, or its lane, where its reference stays behind.
    mutating func leaveReady(_ id: OperationID) {
        guard let name = operations[id]?.unhandledName else {
            ghosts += 1
            return
        }
        operations[id]?.unhandledName = nil
        unhandled[name]?.set.remove(id)
        if unhandled[name]?.set.count == 0 { unhandled[name] = nil }
    }

    /// Puts the first operations with these names to the heads of their lanes, in their order, with about 256 KiB of records.
    ///
    /// - Returns: whether some are left.
    mutating func readmit(_ names: [String], atMost limit: Int) -> Bool {
        var (room, bytes) = (limit, 0)
        var isLeft = false
        for name in names {
            if let set = unhandled[name]?.set, room > 0 {
                let ids = set.entries.prefix(room).map(\.id).prefix { id in
                    let size = OperationHeader.byteCount + (operations[id]?.record.envelope.count ?? 0)
                    if bytes > 0, bytes + size > Self.replyBytes { return false }
                    bytes += size
                    return true
                }
                for id in ids.reversed() { readmit(id) }
                room -= ids.count
            }
            isLeft = isLeft || unhandled[name] != nil
        }
        return isLeft
    }

    private mutating func readmit(_ id: OperationID) {
        guard let header = operations[id]?.record.header else { return }
        leaveReady(id)
        let element = LaneElement(header: header, envelope: [])
        noteLarge(element)
        lanes[header.priority.lane].prepend(element)
    }
}
