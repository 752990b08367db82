/// A list that is linked through the operations themselves. The list uses no memory of its own, and each step is O(1).
struct OperationList {
    private(set) unowned(unsafe) var first: LocalOperation?
    private(set) unowned(unsafe) var last: LocalOperation?

    mutating func append(_ operation: LocalOperation) {
        operation.previous = last
        operation.next = nil
        if let last { last.next = operation } else { first = operation }
        last = operation
    }

    mutating func remove(_ operation: LocalOperation) {
        if let previous = operation.previous { previous.next = operation.next } else { first = operation.next }
        if let next = operation.next { next.previous = operation.previous } else { last = operation.previous }
        operation.previous = nil
        operation.next = nil
    }

    func collect(into operations: inout [LocalOperation]) {
        var current = first
        while let operation = current {
            operations.append(operation)
            current = operation.next
        }
    }
}

/// The ready operations of one priority, in the order in which they were added to the queue.
///
/// Almost all operations become ready in that order and go into a list. Some become ready late: their dependency ended,
/// their priority changed, or they are retried. One that belongs before the list's end goes into a heap: O(log n) for
/// those few.
struct Lane {
    private var list = OperationList()
    private var heap: [Unmanaged<LocalOperation>] = []

    var isEmpty: Bool { list.first == nil && heap.isEmpty }

    mutating func insert(_ operation: LocalOperation) {
        if let last = list.last, last.sequence > operation.sequence {
            heap.append(.passUnretained(operation))
            operation.heapIndex = Int32(heap.count - 1)
            siftUp(heap.count - 1)
        } else {
            list.append(operation)
        }
    }

    var first: LocalOperation? {
        guard let late = heap.first?.takeUnretainedValue() else { return list.first }
        guard let head = list.first else { return late }
        return late.sequence < head.sequence ? late : head
    }

    mutating func remove(_ operation: LocalOperation) {
        if operation.heapIndex >= 0 { removeFromHeap(operation) } else { list.remove(operation) }
    }

    func collect(into operations: inout [LocalOperation]) {
        list.collect(into: &operations)
        for operation in heap { operations.append(operation.takeUnretainedValue()) }
    }

    private mutating func removeFromHeap(_ operation: LocalOperation) {
        let index = Int(operation.heapIndex)
        operation.heapIndex = -1
        let moved = heap.removeLast()
        guard index < heap.count else { return }
        place(moved, at: index)
        siftUp(index)
        siftDown(Int(moved.takeUnretainedValue().heapIndex))
    }

    private mutating func place(_ operation: Unmanaged<LocalOperation>, at index: Int) {
        heap[index] = operation
        operation.takeUnretainedValue().heapIndex = Int32(index)
    }

    private func sequence(at index: Int) -> UInt64 { heap[index].takeUnretainedValue().sequence }

    private mutating func siftUp(_ start: Int) {
        var index = start
        while index > 0, sequence(at: index) < sequence(at: (index - 1) / 2) {
            exchange(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    private mutating func siftDown(_ start: Int) {
        var index = start
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2]
            where child < heap.count && sequence(at: child) < sequence(at: least) { least = child }
            guard least != index else { return }
            exchange(index, least)
            index = least
        }
    }

    private mutating func exchange(_ left: Int, _ right: Int) {
        let moved = heap[left]
        place(heap[right], at: left)
        place(moved, at: right)
    }
}

/// The ready operations of all five priorities.
struct Lanes {
    private var lanes = [Lane](repeating: Lane(), count: OperationPriority.allCases.count)
    /// A bit for each lane that is not empty.
    private var occupied: UInt8 = 0
    private(set) var count = 0

    mutating func insert(_ operation: LocalOperation) {
        let lane = Int(operation.lane)
        lanes[lane].insert(operation)
        occupied |= 1 << lane
        count += 1
    }

    mutating func remove(_ operation: LocalOperation) {
        let lane = Int(operation.lane)
        lanes[lane].remove(operation)
        if lanes[lane].isEmpty { occupied &= ~(1 << lane) }
        count -= 1
    }

    /// The next operation to run: of those with the highest priority, the one that was added first.
    var first: LocalOperation? {
        guard occupied != 0 else { return nil }
        return lanes[7 - occupied.leadingZeroBitCount].first
    }

    func collect(into operations: inout [LocalOperation]) {
        for lane in lanes { lane.collect(into: &operations) }
    }
}
