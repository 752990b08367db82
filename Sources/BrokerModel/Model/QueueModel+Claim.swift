import Operations

extension QueueModel {
    /// Claims operations. Refusals are checked in this order: busy (only with `onlyIfIdle`), no lease, stale epoch,
    /// paused.
    ///
    /// A worker whose lease has lapsed may still claim while the lease floor holds. A paused queue promotes nothing.
    mutating func claim(_ request: ClaimRequest) -> Claim {
        if request.onlyIfIdle, workers[request.worker.description]?.inFlight.isEmpty == false {
            return Claim(status: .busy)
        }
        if let refused = refusal(of: request) { return refused }
        promote()
        let wanted = min(request.capacity, room ?? .max)
        let moved = readmit(request.unhandled, atMost: min(wanted, SluiceDefaults.trackedBatch))
        settleKeys()
        let (taken, left) = collect(capacity: wanted)
        settle(moved)
        let unhandledLeft = request.unhandled.contains { unhandled[$0] != nil }
        if !taken.isEmpty { fence = max(fence, request.highestFence) }
        let claimed = handOut(taken, to: request.worker.description)
        let startAt = noteTaken(claimed.count, more: left)
        let isLimited = room == 0
        let more = left && !isLimited
        if more { wake() }
        let isFree = claimed.count < request.capacity
        let passesBy = request.onlyIfIdle && claimed.isEmpty
        let due = watch(worker: request.worker.description, isFree: isFree, passesBy: passesBy, startAt: startAt)
        if !left, due == nil { largest = 0 }
        return Claim(
            status: isLimited ? .limited : .ok,
            operations: claimed,
            more: more,
            unhandledLeft: unhandledLeft,
            nextDueMilliseconds: due
        )
    }

    private mutating func refusal(of request: ClaimRequest) -> Claim? {
        let worker = request.worker.description
        guard let lease = leases[worker], lease >= now || leaseFloor >= now else { return Claim(status: .noLease) }
        guard workers[worker]?.epoch ?? 0 <= request.epoch else { return Claim(status: .staleEpoch) }
        guard isPaused else {
            resumeIfTimed()
            return nil
        }
        return Claim(status: .paused, nextDueMilliseconds: pausedUntil.map { max(0, $0 - now) })
    }

    var isPaused: Bool { paused && (pausedUntil.map { $0 > now } ?? true) }

    private mutating func resumeIfTimed() {
        paused = false
        (pausedUntil, pause) = (nil, nil)
    }

    private mutating func handOut(_ taken: [LaneElement], to worker: String) -> [ClaimedOperation] {
        add("started", taken.count)
        let revision = takeLiveRevision()
        return taken.map { element in
            fence += 1
            workers[worker, default: HeldOperations()].inFlight[fence] = element
            event(element.id, .executing)
            let claimed = ClaimedOperation(
                fence: fence,
                header: element.header,
                envelope: envelope(of: element),
                standing: revision
            )
            guard element.header.tracked else { return claimed }
            operations[element.id]?.record.state = .executing
            operations[element.id]?.record.startedAt = now
            operations[element.id]?.record.fence = fence
            operations[element.id]?.ranOn = worker
            return claimed
        }
    }

    /// Decides which worker times the next due instant. A claimer with free slots becomes the timer owner and gets the
    /// exact instant. A claimer without free slots gives the timer up and gets an instant one second later. An idle
    /// worker that takes nothing leaves the timer to its current owner.
    ///
    /// - Returns: milliseconds until the worker should claim again; nil = nothing is due, or another worker times it.
    private mutating func watch(worker: String, isFree: Bool, passesBy: Bool, startAt: Int64?) -> Int64? {
        guard let due = [nextDue, startAt].compactMap({ $0 }).min() else {
            timerOwner = nil
            return nil
        }
        if passesBy, let timerOwner, timerOwner.worker != worker, timerOwner.due == due { return nil }
        if isFree {
            timerOwner = (worker, due)
            return max(0, due - now)
        }
        if timerOwner == nil || timerOwner?.worker == worker {
            timerOwner = nil
            wake()
        }
        return max(0, due - now) + 1000
    }
}

// MARK: - Due operations

extension QueueModel {
    /// The next instant at which an operation is due or expires, or a limit key gets a start back.
    var nextDue: Int64? {
        ([scheduled, retrying, expiring].map { $0.first?.score } + [limitKeys.parked.values.min()]).compactMap { $0 }
            .min()
    }

    /// Promotes due operations to the tails of their lanes: first scheduled ones, then retrying ones. Each counts as
    /// ready since its due time. Then expires operations that did not start in time.
    ///
    /// One call promotes at most `promoteLimit`. Each place may promote `promoteLeast` even if the others have used the
    /// limit.
    private mutating func promote() {
        let due = scheduled.upTo(now, limit: Self.promoteLimit)
        for entry in due { scheduled.remove(entry.id) }
        makeDueReady(due)
        let again = retrying.upTo(now, limit: max(Self.promoteLeast, Self.promoteLimit - due.count))
        for entry in again { retrying.remove(entry.id) }
        makeDueReady(again)
        let rest = Self.promoteLimit - due.count - again.count
        expire(limit: max(Self.promoteLeast, rest))
    }

    /// Expires operations that did not start in time, and frees limit keys whose next start is back. Both go in the
    /// order of their instants; at the same instant, keys come first.
    ///
    /// - Returns: the number of expired operations and freed keys.
    @discardableResult
    mutating func expire(limit: Int) -> Int {
        guard let first = nextExpiry, first <= now else { return 0 }
        var count = 0
        var ids = expiring.upTo(now, limit: limit)[...]
        var keys = limitKeys.parkedInOrder.prefix { $0.at <= now }
        for _ in 0..<limit {
            if let (key, at) = keys.first, ids.first.map({ at <= $0.score }) ?? true {
                count += 1
                keys.removeFirst()
                limitKeys.parked[key] = nil
                touch(key)
            } else if let entry = ids.popFirst() {
                count += 1
                expire(entry.id)
            }
        }
        return count
    }

    var nextExpiry: Int64? {
        [expiring.first?.score, limitKeys.parked.values.min()].compactMap { $0 }.min()
    }

    /// Makes due operations ready and appends them to their lanes in the order of their enqueue. The sorted set orders
    /// operations of one instant by id, so at most `promoteLimit` headers are sorted again.
    private mutating func makeDueReady(_ entries: [ScoredSet.Entry]) {
        let headers = entries.compactMap { makeReady($0) }
        for header in headers.sorted(by: { ($0.readyAt, $0.sequence) < ($1.readyAt, $1.sequence) }) {
            lanes[header.priority.lane].append(LaneElement(header: header, envelope: []))
        }
    }

    /// Makes a due operation ready.
    ///
    /// - Returns: the header for its lane; nil = the operation waits for its limit key instead.
    private mutating func makeReady(_ entry: ScoredSet.Entry) -> OperationHeader? {
        operations[entry.id]?.record.header.readyAt = entry.score
        operations[entry.id]?.record.state = .ready
        guard let header = operations[entry.id]?.record.header else { return nil }
        defer { event(entry.id, .ready) }
        return enterKey(entry.id) ? nil : header
    }

    mutating func expire(_ id: OperationID) {
        expiring.remove(id)
        if !scheduled.remove(id), !blocked.remove(id) { leaveReady(id) }
        revise(id)
        end(id, as: .expired)
    }
}

// MARK: - Lanes

/// The elements that a claim has read and taken so far.
private struct ClaimBasket {
    var elements: [LaneElement] = []
    var bytes = 0
    var tracked = 0
    /// The number of elements that the claim may still read.
    var budget: Int
    /// The most elements to pop at once. The larger elements may be, the fewer are popped, because each popped one must
    /// be handed out.
    let step: Int

    init(budget: Int, step: Int) {
        self.budget = budget
        self.step = step
    }

    var hasRoom: Bool { budget > 0 && !isFull }
    var isFull: Bool { bytes >= QueueModel.replyBytes || tracked >= SluiceDefaults.trackedBatch }
    /// The most elements to pop now.
    var portion: Int { min(step, SluiceDefaults.trackedBatch - tracked) }

    mutating func read(_ envelope: [UInt8]) {
        budget -= 1
        bytes += OperationHeader.byteCount + envelope.count
    }

    mutating func add(_ element: LaneElement) {
        elements.append(element)
        if element.header.tracked { tracked += 1 }
    }
}

extension QueueModel {
    /// Takes operations by priority: the highest lane fills the claim. Every fifth operation of the queue is chosen by
    /// age instead. So an old backlog does not delay urgent operations, and a stream of urgent ones does not starve the
    /// rest.
    ///
    /// The claim reads at most `2 · capacity + 100` elements and at most 600, so a lane full of stale references costs
    /// no more. The claim stops near 256 KiB or at 100 tracked operations.
    private mutating func collect(capacity: Int) -> (taken: [LaneElement], more: Bool) {
        let step = max(1, Self.replyBytes / max(Self.usualBytes, largest))
        var basket = ClaimBasket(budget: min(2 * capacity + 100, 600), step: step)
        while basket.elements.count < capacity, basket.hasRoom, let top = lanes.lastIndex(where: { !$0.isEmpty }) {
            var wanted = min(capacity - basket.elements.count, basket.budget)
            var lane = top
            if let aged = mostAged, aged != top {
                let next = fence + Int64(basket.elements.count) + 1
                let beforeAged = Int((Self.agedEvery - next % Self.agedEvery) % Self.agedEvery)
                (lane, wanted) = beforeAged == 0 ? (aged, 1) : (top, min(wanted, beforeAged))
            }
            take(wanted, from: lane, into: &basket)
        }
        return (basket.elements, lanes.contains { !$0.isEmpty })
    }

    private mutating func take(_ wanted: Int, from lane: Int, into basket: inout ClaimBasket) {
        var wanted = wanted
        while wanted > 0, !basket.isFull, !lanes[lane].isEmpty {
            for _ in 0..<min(wanted, basket.portion) {
                guard var element = lanes[lane].popFirst() else { break }
                wanted -= 1
                basket.read(envelope(of: element))
                guard admits(element) else { continue }
                // The operation may have become linked since its reference was written.
                if let record = operations[element.id]?.record { element.header.linked = record.header.linked }
                basket.add(element)
                startOfKey(element.id)
            }
            settleKeys()
        }
    }

    func envelope(of element: LaneElement) -> [UInt8] {
        element.header.tracked ? operations[element.id]?.record.envelope ?? [] : element.envelope
    }

    /// The lane of highest effective priority: its rank, plus one for each full 30 s that its head has waited. Between
    /// equals, the lane whose head has waited longer wins, then the higher lane.
    private var mostAged: Int? {
        var best: (lane: Int, value: Int64, readyAt: Int64)?
        for lane in lanes.indices.reversed() {
            guard let readyAt = lanes[lane].head?.header.readyAt else { continue }
            let value = Int64(lane) + max(0, now - readyAt) / Self.ageingMilliseconds
            guard let other = best else {
                best = (lane, value, readyAt)
                continue
            }
            if value > other.value || value == other.value && readyAt < other.readyAt { best = (lane, value, readyAt) }
        }
        return best?.lane
    }

    /// Whether an element may start; an element that may not is dropped. A reference counts only if its record is ready
    /// and has the same revision and sequence.
    private mutating func admits(_ element: LaneElement) -> Bool {
        element.header.tracked ? admitsTracked(element) : admitsUntracked(element)
    }

    private mutating func admitsTracked(_ element: LaneElement) -> Bool {
        guard let record = operations[element.id]?.record, record.state == .ready,
            record.header.revision == element.header.revision, record.header.sequence == element.header.sequence
        else {
            stale -= 1
            return false
        }
        leaveKey(element.id)
        if element.header.expiresAt > 0 {
            expiring.remove(element.id)
            if element.header.expiresAt <= now {
                end(element.id, as: .expired)
                return false
            }
        }
        return !obeysIntent(element)
    }

    private mutating func admitsUntracked(_ element: LaneElement) -> Bool {
        if element.header.expiresAt > 0, element.header.expiresAt <= now {
            if adopt(element) { end(element.id, as: .expired) }
            return false
        }
        return !obeysIntent(element)
    }

    /// Ends an operation whose cancel came before it. Returns false if no such cancel is stored.
    private mutating func obeysIntent(_ element: LaneElement) -> Bool {
        guard let intent = intents.removeValue(forKey: element.id) else { return false }
        guard hasRecord(element) else { return true }
        operations[element.id]?.cancel = intent
        end(element.id, as: .cancelled)
        return true
    }
}
