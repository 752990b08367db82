import Operations

/// The starts of a rate at one instant, as a bucket: it holds as many starts as the burst, and each used start takes a
/// step to come back.
struct RateBucket {
    private let step: Int64
    private let now: Int64
    /// The latest instant at which all starts can be back, in microseconds.
    private let latest: Int64
    /// The instant at which all starts are back, in microseconds.
    private(set) var fullAt: Int64

    /// - Parameters:
    ///   - fullAt: the value stored when a start was last used, in microseconds; nil = all starts are there.
    ///   - now: the current time, in milliseconds.
    init(_ rate: QueueRate, fullAt: Int64?, now: Int64) {
        (step, self.now) = (rate.step, now)
        latest = now * 1000 + Int64(rate.burst) * step
        self.fullAt = max(now * 1000, min(fullAt ?? 0, latest))
    }

    /// How many operations may start now.
    var starts: Int { Int((latest - fullAt) / step) }

    /// The time at which the next start is back, in milliseconds.
    var nextStart: Int64 { max(now + 1, now + (fullAt + step - latest + 999) / 1000) }

    /// Uses starts; a negative count gives starts back.
    mutating func use(_ count: Int64) { fullAt = max(now * 1000, min(latest, fullAt + count * step)) }
}

// Limits of the queue.
extension QueueModel {
    /// How many keys are updated at once when the limit of all keys changes. Further keys follow when one of their
    /// operations ends.
    private static let keysAtOnce = 100

    /// How many more operations may run; nil = any number.
    var places: Int? { limits.concurrency.map { max(0, $0 - executingCount) } }

    /// How many more operations the rate lets start; nil = any number.
    private var starts: Int? { rateBucket?.starts }

    private var rateBucket: RateBucket? { limits.rate.map { RateBucket($0, fullAt: bucket, now: now) } }

    /// How many more operations may start; nil = any number.
    var room: Int? { [places, starts].compactMap { $0 }.min() }

    /// Notes that a claim has taken operations.
    ///
    /// - Parameter more: whether more operations wait.
    /// - Returns: the time of the next start that the rate holds back; nil = the rate holds back none.
    mutating func noteTaken(_ count: Int, more: Bool) -> Int64? {
        if count > 0 { useStarts(Int64(count)) }
        isFull = places == 0
        guard !isFull, let bucket = rateBucket, bucket.starts == 0 else { return nil }
        // An operation that comes while nothing waits must wake a worker, or no worker would time the next start.
        isFull = more
        return more ? bucket.nextStart : nil
    }

    /// Gives back the starts of untried operations. A rate counts only tried ones.
    mutating func returnStarts(_ untried: Int64) {
        if untried > 0 { useStarts(-untried) }
    }

    private mutating func useStarts(_ count: Int64) {
        guard var used = rateBucket else { return }
        used.use(count)
        bucket = used.fullAt
    }

    /// Wakes a worker for a ready operation, unless no more may start.
    mutating func wakeForReady() { if !isFull { wake() } }

    /// Notes that an operation leaves its worker. If the limit was full before, the end of the call wakes a worker.
    mutating func noteLeaving() {
        guard isFull else { return }
        (isFull, wasFull) = (false, true)
    }

    /// Ends a call: wakes a worker if an operation left a full queue.
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
            changes.append("rate \(rate?.words ?? "none")")
        }
        for change in QueueLimits.keyChanges(in: new) { changes += set(change) }
        if limits.rate == nil { bucket = nil }
        if limits.perKey.rate == nil, limits.keys.values.allSatisfy({ $0.rate == nil }) { limitKeys.buckets = [:] }
        limitsSet = limits == QueueLimits() ? nil : OperatorTrace(at: now, by: by, reason: "")
        if !changes.isEmpty {
            effects.change = QueueChange(.limit, by: by, detail: changes.joined(separator: ", "))
        }
        isFull = places == 0
        wakeIfRoom()
        return limits
    }

    /// Sets the limits of a key.
    ///
    /// - Returns: the changes in words.
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
        if let rate = change.rate {
            limit.rate = rate
            words.append(name + "rate \(rate?.words ?? "none")")
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
