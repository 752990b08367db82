/// The operations that were added between two barriers, or one barrier alone. A section starts when the previous one
/// has ended.
struct Section {
    var lanes = Lanes()
    /// Blocked and retrying operations.
    var parked = OperationList()
    var executing = OperationList()
    /// The number of operations that have not ended.
    var count = 0

    func collect(into operations: inout [LocalOperation]) {
        executing.collect(into: &operations)
        lanes.collect(into: &operations)
        parked.collect(into: &operations)
    }
}

/// The sections of a queue in order. A queue without barriers has one.
struct Sections {
    var active = Section()
    private var later: [Section] = []
    /// How many sections of `later` are used up. Used ones are removed in bulk.
    private var used = 0
    /// The active section's number. Numbers grow by one from section to section.
    private(set) var number: UInt32 = 0

    var lastNumber: UInt32 { number + UInt32(later.count - used) }

    mutating func open() { later.append(Section()) }

    subscript(number: UInt32) -> Section {
        _read {
            if number == self.number { yield active } else { yield later[position(of: number)] }
        }
        _modify {
            if number == self.number { yield &active } else { yield &later[position(of: number)] }
        }
    }

    private func position(of number: UInt32) -> Int { used + Int(number - self.number) - 1 }

    /// Continues with the next section that is not empty, or with the last one.
    mutating func advance() {
        while active.count == 0, used < later.count {
            active = later[used]
            later[used] = Section()
            used += 1
            number += 1
        }
        if used > 32, used * 2 > later.count {
            later.removeFirst(used)
            used = 0
        }
    }

    func collect(into operations: inout [LocalOperation]) {
        active.collect(into: &operations)
        for section in later[used...] { section.collect(into: &operations) }
    }
}
