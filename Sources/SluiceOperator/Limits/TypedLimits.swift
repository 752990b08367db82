import Operations
import Selectors
import TerminalText

/// Limits in the form of the command line: `concurrency=8 rate=100/s burst=20 key:acme.rate=5/s`.
package struct TypedLimits: Sendable {
    private static let fix = "\(Program.name) queue limit QUEUE concurrency=8 rate=100/s"
    package private(set) var limits: [QueueLimit] = []
    /// The last typed rate and burst for each name. A burst may come before its rate.
    private var rates: [LimitName: QueueRate] = [:]
    private var bursts: [LimitName: Int] = [:]

    package init(_ words: [String]) throws {
        for word in words {
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 2 else {
                throw QueryError(
                    "\"\(word)\" is not a limit; expected LIMIT=VALUE, where LIMIT is concurrency, rate, burst, key.… "
                        + "or key:KEY.…",
                    fix: Self.fix
                )
            }
            try read(parts[0], parts[1])
        }
        for (name, burst) in bursts {
            guard let rate = rates[name] else {
                throw QueryError(
                    "\(name.text(.burst)) needs a rate beside it: \(name.text(.rate))=N/TIME",
                    fix: Self.fix
                )
            }
            rates[name] = QueueRate(rate.count, per: rate.period, burst: burst)
        }
        for (name, rate) in rates { limits.append(name.rate(rate)) }
        for limit in limits { try limit.check() }
    }

    private mutating func read(_ word: String, _ value: String) throws {
        guard let (name, kind) = LimitName.read(word) else {
            throw QueryError(
                "unknown limit \"\(word)\"; expected concurrency, rate, burst, key.concurrency, key.weight, key.rate, "
                    + "key.burst or key:KEY.…",
                fix: Self.fix
            )
        }
        switch (kind, value) {
        case (.rate, "none"):
            rates[name] = nil
            limits.append(name.rate(nil))
        case (.rate, _): rates[name] = try Self.rate(value, word)
        case (.burst, _): bursts[name] = try Self.number(value, word, orNone: false)
        case (.concurrency, "none"): limits.append(name.concurrency(nil))
        case (.concurrency, _): limits.append(name.concurrency(try Self.number(value, word)))
        case (.weight, _): limits.append(.keyWeight(value == "none" ? nil : try Self.number(value, word), of: name.key))
        }
    }

    private static func number(_ text: String, _ name: String, orNone: Bool = true) throws -> Int {
        if let number = Int(text) { return number }
        throw QueryError(
            "\(name) cannot be \"\(text)\"; expected a number from 1\(orNone ? ", or none" : "")",
            fix: fix
        )
    }

    /// `100/s`, `20/1m`
    private static func rate(_ text: String, _ name: String) throws -> QueueRate {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, let count = Int(parts[0]) else {
            throw QueryError(
                "\(name) cannot be \"\(text)\"; expected a number in a time, as 100/s or 20/1m, or none",
                fix: fix
            )
        }
        let isUnit = parts[1].first?.isLetter ?? false
        let period: Duration
        do { period = try DurationText.parse(isUnit ? "1" + parts[1] : parts[1]) } catch {
            throw QueryError("\(name) cannot be \"\(text)\": \(error)", fix: fix)
        }
        // The initial burst follows from the rate alone. `check` refuses a rate below 1.
        return QueueRate(count, per: period)
    }
}

/// The subject of a typed limit: the queue, every limit key, or one limit key.
private enum LimitName: Hashable {
    case queue
    case eachKey
    case key(String)

    enum Kind: String {
        case concurrency, rate, burst, weight
    }

    /// Reads `rate`, `key.rate` or `key:acme.rate`; nil for any other word. A key may contain dots.
    static func read(_ word: String) -> (name: LimitName, kind: Kind)? {
        guard let dot = word.lastIndex(of: ".") else {
            return Kind(rawValue: word).flatMap { $0 == .weight ? nil : (.queue, $0) }
        }
        let about = word[..<dot]
        guard let kind = Kind(rawValue: String(word[word.index(after: dot)...])) else { return nil }
        if about == "key" { return (.eachKey, kind) }
        return about.hasPrefix("key:") ? (.key(String(about.dropFirst("key:".count))), kind) : nil
    }

    func text(_ kind: Kind) -> String {
        switch self {
        case .queue: kind.rawValue
        case .eachKey: "key.\(kind.rawValue)"
        case .key(let key): "key:\(key).\(kind.rawValue)"
        }
    }

    /// The limit key; nil unless the limit is for one key.
    var key: String? { if case .key(let key) = self { key } else { nil } }

    func concurrency(_ number: Int?) -> QueueLimit {
        self == .queue ? .concurrency(number) : .keyConcurrency(number, of: key)
    }

    func rate(_ rate: QueueRate?) -> QueueLimit { self == .queue ? .rate(rate) : .keyRate(rate, of: key) }
}
