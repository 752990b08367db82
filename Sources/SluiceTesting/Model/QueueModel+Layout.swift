import Operations

extension InMemoryBroker {
    /// Everything that lies in a queue, one line per thing, sorted: where it is, then what it is. A test writes the same of Redis,
    /// so that a difference between the two shows as a line.
    ///
    /// - Parameter endedRows: so many of each state's ended operations, the newest.
    package func layout(queue: String, endedRows: Int = .max) -> [String] {
        read(queue) { $0.layout(endedRows: endedRows) }
    }
}

extension QueueModel {
    fileprivate func layout(endedRows: Int) -> [String] {
        var lines: [String] = []
        for (number, lane) in lanes.enumerated() { lines += Self.lines("lane:\(number)", lane) }
        for (place, set) in [("scheduled", scheduled), ("retrying", retrying), ("expiring", expiring)] {
            lines += Self.lines(place, set)
        }
        for (state, set) in ended {
            let place = "ended:\(String(UnicodeScalar(state.code)))"
            lines += set.entries.suffix(endedRows).map { "\(place) \($0.id) \($0.score)" }
        }
        for (worker, held) in workers { lines += Self.lines(of: held, worker: worker) }
        for (number, grave) in graves.enumerated() { lines += Self.lines(of: grave, number: number) }
        lines += leases.map { "lease \($0.key) \($0.value)" }
        lines += intents.map { "intent \($0.key) \($0.value.at)" }
        if let watcher { lines.append("watcher \(watcher.worker) \(watcher.due)") }
        if hasToken { lines.append("bell") }
        lines.append("counters \(sequence) \(fence) \(ghosts) \(leaseFloor)")
        return lines.sorted()
    }

    private static func lines(_ place: String, _ lane: Lane) -> [String] {
        lane.elements.enumerated().map { "\(place) \($0.offset) \($0.element.headerText)" }
    }

    private static func lines(_ place: String, _ set: ScoredSet) -> [String] {
        set.entries.map { "\(place) \($0.id) \($0.score)" }
    }

    private static func lines(of held: HeldOperations, worker: String) -> [String] {
        held.inFlight.map { "inflight \(worker) \($0.key) \($0.value.headerText)" }
            + held.cancelling.map { "cancelling \(worker) \($0.key) \($0.value.at)" }
    }

    private static func lines(of grave: Grave, number: Int) -> [String] {
        grave.lanes.enumerated().flatMap { lines("grave:\(number):lane:\($0.offset)", $0.element) }
            + lines("grave:\(number):scheduled", grave.scheduled) + lines("grave:\(number):retrying", grave.retrying)
    }
}

extension LaneElement {
    fileprivate var headerText: String {
        var bytes: [UInt8] = []
        header.write(into: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }
}
