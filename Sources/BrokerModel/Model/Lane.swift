import Operations

/// An element of a lane or an in-flight hash: an untracked operation as a whole, or the reference to a tracked one.
struct LaneElement {
    var header: OperationHeader
    /// Empty for a tracked operation, whose envelope is in its record.
    var envelope: [UInt8]

    var id: OperationID { header.id }
}

/// A list that grows at both ends and is taken from at its head.
struct Lane {
    /// Elements given back to the head; the last one is the head.
    private var returned: [LaneElement] = []
    private var queued: [LaneElement] = []
    private var taken = 0

    var count: Int { returned.count + queued.count - taken }
    var isEmpty: Bool { count == 0 }
    var head: LaneElement? { returned.last ?? (taken < queued.count ? queued[taken] : nil) }
    /// The elements from head to tail.
    var elements: [LaneElement] { returned.reversed() + queued[taken...] }

    mutating func append(_ element: LaneElement) { queued.append(element) }

    mutating func prepend(_ element: LaneElement) { returned.append(element) }

    mutating func popFirst() -> LaneElement? {
        if let element = returned.popLast() { return element }
        guard taken < queued.count else { return nil }
        defer { forgetTaken() }
        taken += 1
        return queued[taken - 1]
    }

    /// Frees the taken elements, but so rarely that an element costs O(1) on average.
    private mutating func forgetTaken() {
        guard taken == queued.count || taken > 1024 && taken * 2 > queued.count else { return }
        queued.removeFirst(taken)
        taken = 0
    }
}
