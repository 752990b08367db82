import Operations

/// The ready operations of a limit key.
struct KeyedSet {
    /// Operations in no lane, in the order in which they move to their lanes.
    var waiting = ScoredSet()
    /// Operations in lanes.
    var next = ScoredSet()

    var count: Int { waiting.count + next.count }
}

/// Limit keys: only so many operations of a key run at once, and keys take fair shares.
struct LimitKeys {
    var ready: [String: KeyedSet] = [:]
    /// The running operations of each key.
    var running: [String: Set<OperationID>] = [:]
    /// Keys that this call has changed.
    var touched: [String] = []
    /// The best rank of each key's operations that became ready since the key was last settled; 0 = the highest lane.
    var best: [String: Int64] = [:]
    /// Whether this call has moved an operation of a key to its lane.
    var hasMoved = false
    /// The time at which all starts of a key's rate are back, in microseconds.
    var buckets: [String: Int64] = [:]
    /// Keys that are out of rate, with the time at which their next start is back, in milliseconds.
    var parked: [String: Int64] = [:]
    /// Whether this call has used or given back a start of a key.
    var hasUsed = false
    /// The earliest time until which this call has parked a key.
    var wakesAt: Int64?

    var waitingCount: Int { ready.values.reduce(0) { $0 + $1.waiting.count } }

    /// The keys in the order of Redis: those with most ready operations first.
    var inOrder: [(key: String, set: KeyedSet)] {
        ready.map { ($0.key, $0.value) }.sorted { ($0.1.count, $0.0) > ($1.1.count, $1.0) }
    }

    /// Parked keys, the earliest time first.
    var parkedInOrder: [(key: String, at: Int64)] {
        parked.map { ($0.key, $0.value) }.sorted { ($0.1, $0.0) < ($1.1, $1.0) }
    }

    /// Buckets, the earliest time first.
    var bucketsInOrder: [(key: String, fullAt: Int64)] {
        buckets.map { ($0.key, $0.value) }.sorted { ($0.1, $0.0) < ($1.1, $1.0) }
    }
}

extension QueueModel {
    /// Adds a ready operation to the waiting ones of its limit key: by lane, then by sequence.
    ///
    /// - Returns: false if the operation has no key, so it goes to its lane.
    mutating func enterKey(_ id: OperationID) -> Bool {
        guard let stored = operations[id], let key = stored.limitKey else { return false }
        let score = Self.placeScore(stored.record.header)
        limitKeys.ready[key, default: KeyedSet()].waiting.insert(id, score: score)
        limitKeys.best[key] = min(limitKeys.best[key] ?? .max, Self.rank(ofScore: score))
        touch(key)
        return true
    }

    /// Takes an operation that is no longer ready from its limit key.
    ///
    /// - Returns: whether the operation stood in no lane, so that no reference stays behind.
    @discardableResult
    mutating func leaveKey(_ id: OperationID) -> Bool {
        guard let key = operations[id]?.limitKey else { return false }
        touch(key)
        let stoodInLane = limitKeys.ready[key]?.next.remove(id) ?? false
        let waited = !stoodInLane && limitKeys.ready[key]?.waiting.remove(id) ?? false
        if limitKeys.ready[key]?.count == 0 { limitKeys.ready[key] = nil }
        return waited
    }

    mutating func startOfKey(_ id: OperationID) {
        guard let key = operations[id]?.limitKey else { return }
        limitKeys.running[key, default: []].insert(id)
        useStarts(1, of: key)
    }

    /// Notes that an operation leaves its worker.
    mutating func stopOfKey(_ id: OperationID) {
        guard let key = operations[id]?.limitKey else { return }
        limitKeys.running[key]?.remove(id)
        if limitKeys.running[key]?.isEmpty == true { limitKeys.running[key] = nil }
        touch(key)
    }

    /// Gives back the start of an operation that left its worker untried. A rate counts only tried operations.
    mutating func untryOfKey(_ id: OperationID) {
        if let key = operations[id]?.limitKey { useStarts(-1, of: key) }
    }

    private mutating func useStarts(_ count: Int64, of key: String) {
        guard var bucket = bucket(of: key) else { return }
        bucket.use(count)
        limitKeys.buckets[key] = bucket.fullAt
        limitKeys.hasUsed = true
    }

    /// The starts of a key's rate; nil = the key has no rate.
    private func bucket(of key: String) -> RateBucket? {
        limits.limit(of: key).rate.map { RateBucket($0, fullAt: limitKeys.buckets[key], now: now) }
    }

    mutating func touch(_ key: String) {
        if !limitKeys.touched.contains(key) { limitKeys.touched.append(key) }
    }

    /// Moves the next operations of each changed key to their lanes. A claim does so before it takes from lanes.
    mutating func settleKeys() {
        let keys = limitKeys.touched
        limitKeys.touched = []
        for key in keys { moveNext(key) }
    }

    /// Ends a call: settles changed keys, and wakes a worker if an operation has moved to a lane or a key was parked.
    mutating func announceKeys() {
        settleKeys()
        if limitKeys.hasMoved, !isFull, lanes.contains(where: { !$0.isEmpty }) { wake() }
        limitKeys.hasMoved = false
        if limitKeys.hasUsed { forgetBuckets() }
        if let instant = limitKeys.wakesAt { announce(due: instant) }
        limitKeys.wakesAt = nil
    }

    /// Forgets buckets that are full again, at most as many as a call can add.
    private mutating func forgetBuckets() {
        for (key, fullAt) in limitKeys.bucketsInOrder.prefix(SluiceDefaults.trackedBatch) where fullAt <= now * 1000 {
            limitKeys.buckets[key] = nil
        }
        limitKeys.hasUsed = false
    }

    private mutating func moveNext(_ key: String) {
        var room = room(of: key)
        while room < 0, putBack(key, below: -1) { room += 1 }
        if room <= 0, let best = limitKeys.best[key], putBack(key, below: best) { room = 1 }
        limitKeys.best[key] = nil
        fill(key, room)
        park(key)
    }

    private mutating func fill(_ key: String, _ room: Int) {
        for _ in 0..<max(0, room) {
            guard let entry = limitKeys.ready[key]?.waiting.popFirst(),
                let header = operations[entry.id]?.record.header
            else { return }
            limitKeys.ready[key]?.next.insert(entry.id, score: entry.score)
            lanes[header.priority.lane].append(LaneElement(header: header, envelope: []))
            limitKeys.hasMoved = true
        }
    }

    /// Parks a key that lacks a start until the next start is back, if operations wait that could run otherwise.
    private mutating func park(_ key: String) {
        guard let bucket = bucket(of: key) else { return }
        let (waits, concurrency) = (limitKeys.ready[key]?.waiting.count ?? 0 > 0, limits.limit(of: key).concurrency)
        guard bucket.starts == 0, waits,
            limitKeys.running[key]?.count ?? 0 < concurrency ?? .max
        else {
            limitKeys.parked[key] = nil
            return
        }
        limitKeys.parked[key] = bucket.nextStart
        limitKeys.buckets[key] = bucket.fullAt
        limitKeys.wakesAt = min(limitKeys.wakesAt ?? .max, bucket.nextStart)
    }

    /// Takes the last operation of a key out of its lane, where its reference becomes stale, and lets it wait again. An
    /// operation of a higher lane goes first, or a limit was lowered.
    ///
    /// - Returns: whether an operation stood in a lane below `rank`.
    private mutating func putBack(_ key: String, below rank: Int64) -> Bool {
        guard let last = limitKeys.ready[key]?.next.entries.last, Self.rank(ofScore: last.score) > rank else {
            return false
        }
        limitKeys.ready[key]?.next.remove(last.id)
        limitKeys.ready[key]?.waiting.insert(last.id, score: last.score)
        revise(last.id)
        stale += 1
        return true
    }

    private func room(of key: String) -> Int {
        let limit = limits.limit(of: key)
        let next = limitKeys.ready[key]?.next.count ?? 0
        let places = limit.concurrency.map { $0 - next - (limitKeys.running[key]?.count ?? 0) }
        let starts = bucket(of: key).map { $0.starts - next }
        return min((limit.weight ?? 1) - next, places ?? .max, starts ?? .max)
    }
}

// MARK: - Reading

extension QueueModel {
    func waitsForKey(_ id: OperationID, _ stored: StoredOperation) -> Bool {
        guard let key = stored.limitKey else { return false }
        return limitKeys.ready[key]?.waiting.contains(id) ?? false
    }

    /// The headers of the first waiting operation of each key that a snapshot shows.
    var firstOfKeys: [OperationHeader] {
        limitKeys.inOrder.prefix(20).compactMap { $0.set.waiting.first.flatMap { operations[$0.id]?.record.header } }
    }

    func row(of key: String) -> LimitKeyRow {
        let set = limitKeys.ready[key] ?? KeyedSet()
        var row = LimitKeyRow(
            key: key,
            ready: set.count,
            waiting: set.waiting.count,
            executing: limitKeys.running[key]?.count ?? 0
        )
        row.noteNextStart(limits.limit(of: key), bucket: limitKeys.buckets[key], now: now)
        return row
    }

    func limitKey(_ key: String) -> LimitKeyState {
        LimitKeyState(
            row: row(of: key),
            limit: limits.limit(of: key),
            executing: Array((limitKeys.running[key] ?? []).sorted().prefix(LimitKeyState.named))
        )
    }
}
