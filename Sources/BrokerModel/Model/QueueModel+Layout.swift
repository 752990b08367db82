import Operations

/// The content of a queue, as tests compare it.
package struct QueueLayout: Sendable {
    /// The place of an element. A reference to a tracked operation has the revision and sequence that make it count.
    package enum Place: Sendable, Equatable {
        case lane(revision: Int, sequence: Int64)
        case untrackedInLane
        case set(OperationState)
        case inFlight
        case ended(OperationState)
        case batch(revision: Int, sequence: Int64)
        case untrackedInBatch
        case batchSet(OperationState)
    }

    /// One line for each element: its place, then its content. A test writes the same lines for Redis, so that a
    /// difference shows as a line.
    package fileprivate(set) var text = ""
    /// Texts of the layout before, for reuse: most elements of a queue were there a step ago.
    private var headers: [OperationID: (header: OperationHeader, text: String)] = [:]
    private var ids: [OperationID: String] = [:]
    package fileprivate(set) var places: [(id: OperationID, place: Place)] = []
    /// The number of elements that have not ended.
    package fileprivate(set) var load = 0
    package fileprivate(set) var hasToken = false

    /// Whether a cancelled batch is not yet cleared away.
    package var hasCancelledBatches: Bool {
        places.contains { entry in
            switch entry.place {
            case .batch, .untrackedInBatch, .batchSet: true
            case .lane, .untrackedInLane, .set, .inFlight, .ended: false
            }
        }
    }

    /// Creates the layout of a queue that was never used.
    package init() {}
}

extension InMemoryBroker {
    /// Returns the layout of a queue.
    ///
    /// - Parameters:
    ///   - queue: the queue's name.
    ///   - workers: all workers that ever did something in the queue.
    ///   - endedRows: how many ended operations of each state to include, the newest ones.
    ///   - last: the layout before, from which known texts are reused.
    package func layout(
        queue: String,
        workers: [WorkerID],
        endedRows: Int = .max,
        after last: QueueLayout
    ) -> QueueLayout {
        read(queue) { $0.layout(workers, endedRows: endedRows, after: last) }
    }
}

extension QueueModel {
    private static let terminal: [OperationState] = [.finished, .dead, .cancelled, .expired]

    fileprivate func layout(_ names: [WorkerID], endedRows: Int, after last: QueueLayout) -> QueueLayout {
        var layout = last.emptied()
        for (number, lane) in lanes.enumerated() { layout.add(lane, "lane:\(number)", inBatch: false) }
        layout.add(scheduled, "scheduled", .set(.scheduled))
        layout.add(retrying, "retrying", .set(.retrying))
        layout.add(blocked, "blocked", .set(.blocked))
        layout.add(expiring, "expiring", nil)
        layout.add(unhandled, "unhandled:", inBatch: false)
        for (number, batch) in batches.enumerated() { layout.add(batch, "batch:\(number):") }
        addLimitKeys(to: &layout)
        for name in names { layout.add(workers[name.description] ?? HeldOperations(), name.description) }
        layout.load = layout.places.count
        for state in Self.terminal {
            let newest = (ended[state]?.entries ?? []).suffix(endedRows)
            layout.add(newest, "ended:\(String(UnicodeScalar(state.code)))", .ended(state))
        }
        addRest(to: &layout)
        return layout
    }

    private func addKeys(to layout: inout QueueLayout) {
        for (key, holder) in keys.sorted(by: { $0.key < $1.key }) {
            layout.text += "unique \(key) \(holder.id)"
            switch holder.claim {
            case .inFlight: break
            case .fresh(let end): layout.text += " \(end)"
            case .stopping(let worker): layout.text += " !\(worker)"
            }
            layout.text += "\n"
        }
        for (key, set) in behind.sorted(by: { $0.key < $1.key }) { layout.add(set, "behind:\(key)", nil) }
        for (key, end) in freshKeys.sorted(by: { ($0.value, $0.key) < ($1.value, $1.key) }) {
            layout.text += "fresh \(key) \(end)\n"
        }
    }

    private func addLimitKeys(to layout: inout QueueLayout) {
        for (key, set) in limitKeys.ready.sorted(by: { $0.key < $1.key }) {
            layout.text += "keyed \(key) \(set.count)\n"
            layout.add(set.waiting, "keyed:\(key)", .set(.ready))
            layout.add(set.next, "next:\(key)", nil)
        }
        for (key, ids) in limitKeys.running.sorted(by: { $0.key < $1.key }) {
            for id in ids.sorted() { layout.text += "running \(key) \(id)\n" }
        }
        for (key, limit) in limits.storedOfKeys.sorted(by: { $0.key < $1.key }) {
            layout.text += "keyLimits \(key) \(limit)\n"
        }
        for (key, at) in limitKeys.parkedInOrder { layout.text += "parked \(key) \(at)\n" }
        for (key, fullAt) in limitKeys.bucketsInOrder { layout.text += "keyBuckets \(key) \(fullAt)\n" }
    }

    private func addRest(to layout: inout QueueLayout) {
        for lease in leases.sorted(by: { ($0.value, $0.key) < ($1.value, $1.key) }) {
            layout.text += "lease \(lease.key) \(lease.value)\n"
        }
        for intent in intents.sorted(by: { $0.key < $1.key }) {
            layout.text += "intent \(intent.key) \(intent.value.at)\n"
        }
        addKeys(to: &layout)
        addNeeds(to: &layout)
        addRemote(to: &layout)
        if let timerOwner { layout.text += "timerOwner \(timerOwner.worker) \(timerOwner.due)\n" }
        if hasToken { layout.text += "wake\n" }
        if isFull { layout.text += "full\n" }
        if let stored = limits.stored { layout.text += "limits \(stored)\n" }
        if let bucket { layout.text += "bucket \(bucket)\n" }
        if !schedules.isEmpty {
            layout.text += "schedules \(schedules.count) \(nextOfSchedules ?? 0) \(scheduleWatcher ?? "")\n"
        }
        layout.hasToken = hasToken
        layout.text += "counters \(sequence) \(fence) \(stale) \(leaseFloor) \(outageUntil)\n"
        for sight in buildsInOrder { layout.text += "build \(sight.build) \(sight.firstSeenAt)\n" }
        for worker in lostInOrder {
            layout.text += "lost \(worker.worker) \(worker.lostAt) \(worker.beatAt)"
            layout.text += " \(worker.recovered) \(worker.dead) \(worker.cancelled) \(worker.recoveredAt)\n"
        }
    }
}

extension QueueLayout {
    fileprivate mutating func add(_ lane: Lane, _ name: String, inBatch: Bool) {
        for (position, element) in lane.elements.enumerated() {
            let header = element.header
            let (revision, sequence) = (header.revision, header.sequence)
            let tracked: Place =
                inBatch ? .batch(revision: revision, sequence: sequence) : .lane(revision: revision, sequence: sequence)
            places.append((header.id, header.tracked ? tracked : inBatch ? .untrackedInBatch : .untrackedInLane))
            add("\(name) \(position) ", element)
        }
    }

    mutating func addLine(_ line: String) {
        text += line
        text += "\n"
    }

    private mutating func add(_ start: String, _ element: LaneElement) {
        text += start
        text += word(for: element.header)
        text += "\n"
    }

    private mutating func word(for header: OperationHeader) -> String {
        if let known = headers[header.id], known.header == header { return known.text }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(OperationHeader.byteCount)
        header.write(into: &bytes)
        let text = String(decoding: bytes, as: UTF8.self)
        headers[header.id] = (header, text)
        return text
    }

    private mutating func word(for id: OperationID) -> String {
        if let known = ids[id] { return known }
        let text = id.description
        ids[id] = text
        return text
    }

    fileprivate func emptied() -> QueueLayout {
        var layout = QueueLayout()
        if headers.count < 500 { layout.headers = headers }
        if ids.count < 500 { layout.ids = ids }
        return layout
    }

    /// - Parameter place: nil = membership in the set does not show the state of an operation.
    fileprivate mutating func add(_ set: ScoredSet, _ name: String, _ place: Place?) {
        add(set.entries[...], name, place)
    }

    fileprivate mutating func add(_ entries: ArraySlice<ScoredSet.Entry>, _ name: String, _ place: Place?) {
        for entry in entries {
            if let place { places.append((entry.id, place)) }
            text += name
            text += " "
            text += word(for: entry.id)
            text += " "
            text += entry.score.description
            text += "\n"
        }
    }

    fileprivate mutating func add(_ batch: CancelledBatch, _ name: String) {
        for (number, lane) in batch.lanes.enumerated() { add(lane, "\(name)lane:\(number)", inBatch: true) }
        add(batch.scheduled, name + "scheduled", .batchSet(.scheduled))
        add(batch.retrying, name + "retrying", .batchSet(.retrying))
        add(batch.blocked, name + "blocked", .batchSet(.blocked))
        add(batch.unhandled, name + "unhandled:", inBatch: true)
        for (key, waiting) in batch.keyed.sorted(by: { $0.key < $1.key }) {
            add(waiting, name + "keyed:" + key, .batchSet(.ready))
        }
    }

    fileprivate mutating func add(_ sets: [String: UnhandledSet], _ name: String, inBatch: Bool) {
        for (own, unhandled) in sets.sorted(by: { $0.key < $1.key }) {
            add(unhandled.set, name + own, inBatch ? .batchSet(.ready) : .set(.ready))
        }
    }

    fileprivate mutating func add(_ held: HeldOperations, _ worker: String) {
        for (fence, element) in held.inFlight.sorted(by: { $0.key < $1.key }) {
            places.append((element.id, .inFlight))
            add("inflight \(worker) \(fence) ", element)
        }
        let forced = held.forced.mapValues(\.intent)
        for (fence, intent) in held.cancelling.merging(forced, uniquingKeysWith: { $1 }).sorted(by: { $0.key < $1.key })
        {
            text += "cancelling \(worker) \(fence) \(intent.at)\n"
        }
    }
}
