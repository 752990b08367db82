/// The limits on the running operations of a queue.
public struct QueueLimits: Sendable, Hashable {
    /// How many operations may run at once, on all workers together; nil = any number. One makes it a serial queue.
    public var concurrency: Int?
    /// How many operations may start in a period, on all workers together; nil = any number.
    public var rate: QueueRate?
    /// The limits of each limit key that has none of its own.
    public var perKey = KeyLimit()
    /// The limits of single limit keys. If one of these values is nil, ``perKey`` applies.
    public var keys: [String: KeyLimit] = [:]

    /// Makes the limits of a queue.
    ///
    /// - Parameters:
    ///   - concurrency: how many operations may run at once; nil = any number.
    ///   - rate: how many operations may start in a period; nil = any number.
    ///   - perKey: the limits of each limit key that has none of its own.
    ///   - keys: the limits of single limit keys.
    public init(
        concurrency: Int? = nil,
        rate: QueueRate? = nil,
        perKey: KeyLimit = KeyLimit(),
        keys: [String: KeyLimit] = [:]
    ) {
        self.concurrency = concurrency
        self.rate = rate
        self.perKey = perKey
        self.keys = keys
    }

    /// Returns the limits that apply to a limit key: its own, or else those of all keys.
    public func limit(of key: String) -> KeyLimit {
        KeyLimit(
            concurrency: keys[key]?.concurrency ?? perKey.concurrency,
            weight: keys[key]?.weight ?? perKey.weight,
            rate: keys[key]?.rate ?? perKey.rate
        )
    }
}

/// The limits on the operations of one limit key.
public struct KeyLimit: Sendable, Hashable {
    /// How many operations of the key may run at once, on all workers together; nil = any number.
    public var concurrency: Int?
    /// The share of the key in relation to other keys; nil = 1.
    public var weight: Int?
    /// How many operations of the key may start in a period, on all workers together; nil = any number.
    public var rate: QueueRate?

    /// Makes the limits of a limit key.
    ///
    /// - Parameters:
    ///   - concurrency: how many operations may run at once, 1 to 1,000,000; nil = any number.
    ///   - weight: the share in relation to other keys, 1 to 100; nil = 1.
    ///   - rate: how many operations may start in a period; nil = any number.
    public init(concurrency: Int? = nil, weight: Int? = nil, rate: QueueRate? = nil) {
        self.concurrency = concurrency
        self.weight = weight
        self.rate = rate
    }
}

/// How many operations of a queue, or of a limit key, may start in a period.
///
/// Unused starts are saved, up to ``burst``. In any ``period`` at most ``count`` + ``burst`` operations start. With 5 a
/// second and a burst of 5, up to 10 start in the first second, then 5 in each.
public struct QueueRate: Sendable, Hashable {
    /// The number of starts in each period.
    public var count: Int
    /// The length of the period, in whole milliseconds.
    public var period: Duration
    /// How many operations may start at once, after a time without starts.
    public var burst: Int

    /// Makes a rate.
    ///
    /// - Parameters:
    ///   - count: the number of starts in each period.
    ///   - period: the length of the period, 1 ms to 1 day.
    ///   - burst: how many operations may start at once; nil = the number of starts in a second, at least one.
    public init(_ count: Int, per period: Duration = .seconds(1), burst: Int? = nil) {
        self.count = count
        self.period = period
        let perSecond = Double(count) / max(0.001, period.inSeconds)
        self.burst = burst ?? max(1, Int(min(Double(QueueLimit.most), perSecond.rounded(.up))))
    }

    /// The number of starts in a second.
    package var perSecond: Double { Double(count) / max(0.001, period.inSeconds) }
}

/// A limit of a queue to set; nil removes it.
public enum QueueLimit: Sendable, Hashable {
    /// How many operations of the queue may run at once, on all workers together: 1 to ``most``. One makes it a serial
    /// queue.
    case concurrency(Int?)
    /// How many operations of the queue may start in a period, on all workers together.
    case rate(QueueRate?)
    /// How many operations of one limit key may run at once. `of` is the key; nil = each key without a concurrency of
    /// its own.
    case keyConcurrency(Int?, of: String? = nil)
    /// The share of a limit key, 1 to ``heaviest``. While operations wait, a key of weight 4 gets four times as many
    /// starts as a key of weight 1, which is the default. `of` is the key; nil = each key without a weight of its own.
    case keyWeight(Int?, of: String? = nil)
    /// How many operations of one limit key may start in a period, on all workers together. `of` is the key; nil = each
    /// key without a rate of its own.
    case keyRate(QueueRate?, of: String? = nil)

    /// The highest number of a limit.
    public static let most = 1_000_000
    /// The highest weight.
    public static let heaviest = 100

    /// - Throws: `OperationsError` with `.invalidOption` for a value out of range, and with `.invalidName` for a key
    ///   that is not a valid name.
    package func check() throws(OperationsError) {
        switch self {
        case .concurrency(nil), .rate(nil): break
        case .keyConcurrency(let number, let key):
            if let number { try Self.check(number, "the concurrency of a limit key") }
            if let key { try NameRule.check(key, role: "limit key") }
        case .keyWeight(let number, let key):
            if let number { try Self.check(number, "the weight of a limit key", most: Self.heaviest) }
            if let key { try NameRule.check(key, role: "limit key") }
        case .keyRate(let rate, let key):
            if let rate { try Self.check(rate, of: "a limit key") }
            if let key { try NameRule.check(key, role: "limit key") }
        case .concurrency(let number?): try Self.check(number, "the concurrency of a queue")
        case .rate(let rate?): try Self.check(rate, of: "a queue")
        }
    }

    private static func check(_ rate: QueueRate, of what: String) throws(OperationsError) {
        try check(rate.count, "the rate of \(what)")
        try check(rate.burst, "the burst of \(what)")
        guard rate.period >= .milliseconds(1), rate.period <= .seconds(86_400) else {
            throw OperationsError(
                .invalidOption,
                "the period of the rate of \(what) is \(rate.period): use 1ms to 1d"
            )
        }
    }

    private static func check(_ number: Int, _ what: String, most: Int = most) throws(OperationsError) {
        guard !(1...most).contains(number) else { return }
        throw OperationsError(
            .invalidOption,
            "\(what) cannot be \(number); expected 1 to \(most), or none to remove it"
        )
    }
}

extension QueueLimits {
    /// Reads the text that scripts store; nil = no limits.
    package init(stored: String?) {
        let numbers = (stored ?? "").split(separator: " ").compactMap { Int($0) }
        if let concurrency = numbers.first, concurrency > 0 { self.concurrency = concurrency }
        if numbers.count == 4 { rate = QueueRate(numbers[1], per: .milliseconds(numbers[2]), burst: numbers[3]) }
    }

    /// - Parameter keys: the texts that scripts store for limit keys.
    package init(stored: String?, keys: [String: String]) {
        self.init(stored: stored)
        for (key, text) in keys {
            if key == Self.allKeys { perKey = KeyLimit(stored: text) } else { self.keys[key] = KeyLimit(stored: text) }
        }
    }

    package static let allKeys = "*"

    /// The limits of limit keys, as scripts store them.
    package var storedOfKeys: [String: String] {
        var stored = keys.mapValues(\.stored)
        if perKey != KeyLimit() { stored[Self.allKeys] = perKey.stored }
        return stored
    }

    /// The limits of the queue, as scripts store them; nil = no limits.
    package var stored: String? {
        concurrency == nil && rate == nil
            ? nil : ["\(concurrency ?? 0)", rate?.stored].compactMap { $0 }.joined(separator: " ")
    }

    /// Returns the last concurrency in a list of limits; nil = the list sets none, `.some(nil)` = the list removes it.
    package static func concurrency(in limits: [QueueLimit]) -> Int?? {
        limits.reduce(Int??.none) { if case .concurrency(let number) = $1 { .some(number) } else { $0 } }
    }

    /// Returns the last rate in a list of limits; nil = the list sets none, `.some(nil)` = the list removes it.
    package static func rate(in limits: [QueueLimit]) -> QueueRate?? {
        limits.reduce(QueueRate??.none) { if case .rate(let rate) = $1 { .some(rate) } else { $0 } }
    }
}

extension KeyLimit {
    package init(stored: String) {
        let numbers = stored.split(separator: " ").map { Int($0) }
        guard numbers.count >= 2 else { return }
        (concurrency, weight) = (numbers[0], numbers[1])
        if numbers.count == 5, let count = numbers[2], let period = numbers[3], let burst = numbers[4] {
            rate = QueueRate(count, per: .milliseconds(period), burst: burst)
        }
    }

    /// The limits, as scripts store them.
    package var stored: String {
        let numbers = [concurrency, weight].map { $0.map(String.init) ?? "-" }
        return (numbers + [rate?.stored].compactMap { $0 }).joined(separator: " ")
    }
}

/// The limits of one key to set, as scripts take them.
package struct KeyLimitChange: Sendable {
    /// The key; `QueueLimits.allKeys` = all keys without limits of their own.
    package var key: String
    /// The new value; nil = unchanged, `.some(nil)` = removed.
    package var concurrency: Int??
    package var weight: Int??
    package var rate: QueueRate??
}

extension QueueLimits {
    /// Returns the changes in the order of the keys; those of all keys come first.
    package static func keyChanges(in limits: [QueueLimit]) -> [KeyLimitChange] {
        var changes: [String: KeyLimitChange] = [:]
        for limit in limits {
            switch limit {
            case .concurrency, .rate: break
            case .keyConcurrency(let number, let key):
                changes[key ?? allKeys, default: KeyLimitChange(key: key ?? allKeys)].concurrency = .some(number)
            case .keyWeight(let number, let key):
                changes[key ?? allKeys, default: KeyLimitChange(key: key ?? allKeys)].weight = .some(number)
            case .keyRate(let rate, let key):
                changes[key ?? allKeys, default: KeyLimitChange(key: key ?? allKeys)].rate = .some(rate)
            }
        }
        return changes.values.sorted { $0.key < $1.key }
    }
}

extension QueueRate {
    /// Microseconds until a used start is available again.
    package var step: Int64 { max(1, period.wholeMilliseconds * 1000 / Int64(count)) }

    /// Returns the milliseconds until the next operation may start; nil = one may start now.
    ///
    /// - Parameters:
    ///   - bucket: the instant at which all starts are available again, in microseconds of server time; nil = they are
    ///     now.
    ///   - now: milliseconds of server time.
    package func millisecondsToNextStart(bucket: Int64?, now: Int64) -> Int64? {
        let latest = now * 1000 + Int64(burst) * step
        let missing = min(bucket ?? 0, latest) + step - latest
        return missing > 0 ? (missing + 999) / 1000 : nil
    }

    /// The rate in words: `100/s (burst 100)`, `20/1m (burst 5)`.
    package var words: String { "\(count)/\(periodText) (burst \(burst))" }

    /// The period in the largest unit that divides it.
    private var periodText: String {
        let milliseconds = period.wholeMilliseconds
        let units: [(length: Int64, name: String)] = [
            (86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1000, "s"), (1, "ms"),
        ]
        guard milliseconds != 1000, let unit = units.first(where: { milliseconds % $0.length == 0 }) else { return "s" }
        return "\(milliseconds / unit.length)\(unit.name)"
    }

    /// The rate, as scripts store it.
    package var stored: String { "\(count) \(period.wholeMilliseconds) \(burst)" }
}
