import Operations

// Limits of the queue.
extension QueueModel {
    /// Of so many keys other ones may start when the limit of all keys changes; those of more keys follow when one of theirs ends.
    private static let keysAtOnce = 100

    /// How many more may run; nil = any number.
    var places: Int? { limits.concurrency.map { max(0, $0 - executingCount) } }

    /// How many more may start by the rate; nil = any number.
    private var starts: Int? {
        limits.rate.map { rate in Int((latest(rate) - currentBucket(rate)) / rate.step) }
    }

    /// How many more may start; nil = any number.
    var room: Int? { [places, starts].compactMap { $0 }.min() }

    /// The latest instant at which all starts can be back.
    private func latest(_ rate: QueueRate) -> Int64 { now * 1000 + Int64(rate.burst) * rate.step }

    private func currentBucket(_ rate: QueueRate) -> Int64 { max(now * 1000, min(bucket ?? 0, latest(rate))) }

    /// So many were taken.
    ///
    /// - Parameter more: something waits.
    /// - Returns: when the next one may start that the rate holds back; nil = it holds none.
    mutating func noteTaken(_ count: Int, more: Bool) -> Int64? {
        if count > 0, let rate = limits.rate { bucket = currentBucket(rate) + Int64(count) * rate.step }
        isFull = places == 0
        guard !isFull, let rate = limits.rate, starts == 0 else { return nil }
        // What comes while nothing waits has to wake a worker, or none would wait for that instant.
        isFull = more
        let missing = currentBucket(rate) + rate.step - latest(rate)
        return more ? max(now + 1, now + (missing + 999) / 1000) : nil
    }

    /// A rate counts what was tried.
    mutating func returnStarts(_ untried: Int64) {
        guard untried > 0, let rate = limits.rate else { return }
        bucket = currentBucket(rate) - untried * rate.step
    }

    /// For what is ready: while as many run as may, it wakes no worker.
    mutating func wakeForReady() { if !isFull { wake() } }

    /// Something leaves its worker. At the end of the call a worker is woken, if as many ran before as may.
    mutating func noteLeaving() {
        guard isFull else { return }
        (isFull, wasFull) = (false, true)
    }

    /// Ends a call.
    mutating func announceRoom() {
        guard wasFull else { return }
        wasFull = false
        wakeIfRoom()
    }

    private mutating func wakeIfRoom() {
        if !isFull, lanes.contains(where: { !$0.isEmpty }) || !unhandled.isEmpty { wake() }
    }

    mutating func setLimits(_ new: [QueueLimit], by: String) -> QueueLimits {
        var changes: [String] = []
        if let concurrency = QueueLimits.concurrency(in: new) {
            limits.concurrency = concurrency
            changes.append("concurrency \(concurrency.map(String.init) ?? "none")")
        }
        if let rate = QueueLimits.rate(in: new) {
            limits.rate = rate
            let text = rate.map { "\($0.count) per \($0.period.wholeMilliseconds) ms, burst \($0.burst)" }
            changes.append("rate \(text ?? "none")")
        }
        for change in QueueLimits.keyChanges(in: new) { changes += set(change) }
        if limits.rate == nil { bucket = nil }
        limitsSet = limits == QueueLimits() ? nil : OperatorTrace(at: now, by: by, reason: "")
        if !changes.isEmpty {
            effects.change = QueueChange(.limit, by: by, detail: changes.joined(separator: ", "))
        }
        isFull = places == 0
        wakeIfRoom()
        return limits
    }

    /// - Returns: what it has changed, in words.
    private mutating func set(_ change: KeyLimitChange) -> [String] {
        let isAll = change.key == QueueLimits.allKeys
        var limit = isAll ? limits.perKey : limits.keys[change.key] ?? KeyLimit()
        let name = isAll ? "key." : "key:\(change.key)."
        var words: [String] = []
        if let concurrency = change.concurrency {
            limit.concurrency = concurrency
            words.append(name + "concurrency \(concurrency.map(String.init) ?? "none")")
        }
        if let weight = change.weight {
            limit.weight = weight
            words.append(name + "weight \(weight.map(String.init) ?? "none")")
        }
        if isAll {
            limits.perKey = limit
            for (key, _) in limitKeys.inOrder.prefix(Self.keysAtOnce) { touch(key) }
        } else {
            limits.keys[change.key] = limit == KeyLimit() ? nil : limit
            touch(change.key)
        }
        return words
    }
}
