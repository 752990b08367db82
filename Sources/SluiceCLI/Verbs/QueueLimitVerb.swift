import ArgumentParser
import Operations
import Selectors
import Sluice
import SluiceMonitor
import SluiceOperator
import TerminalText

package struct QueueLimitVerb: Verb {
    package static let formats: Set<OutputFormat> = .jsonAndIDs
    package static let effect = VerbEffect.changes

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "limit",
            abstract:
                "Show or set the limits of a queue: how many of its operations run at once, and how many start in a time.",
            discussion: """
                EXAMPLES
                  \(Program.name) queue limit mail concurrency=8
                  \(Program.name) queue limit reports concurrency=1
                  \(Program.name) queue limit mail rate=100/s
                  \(Program.name) queue limit mail rate=20/1m burst=5
                  \(Program.name) queue limit mail key.concurrency=2 key:acme.concurrency=10 key:acme.weight=4
                  \(Program.name) queue limit mail key.rate=100/s key:acme.rate=20/1m key:acme.burst=5
                  \(Program.name) queue limit mail concurrency=none rate=none
                  \(Program.name) queue limit mail

                concurrency=N: at most N operations of the queue run at once, on all workers together; 1 makes it a serial queue. A change holds \
                for the next operations; what runs goes on. rate=N/TIME: N operations start in that time, on all workers together. Starts that are \
                not used are saved, up to burst=B (without it, as many as start in a second, at least 1). So in any TIME at most N + B start: with \
                rate=5/s burst=5 up to 10 in the first second, then 5. key.concurrency=N: of the operations with one limit key (enqueue --limit-key) at most N run at once; \
                key:KEY.concurrency=N sets it for one key. key.rate=N/TIME and key.burst=B: so many of one key start, likewise. Keys get equal shares of a busy queue; key:KEY.weight=N gives one key N times as much. \
                none removes a limit. Without a limit after the queue: shows its limits.
                """
        )
    }

    @Argument(help: "The queue.") var queue: String
    @Argument(
        help: ArgumentHelp(
            "concurrency=N, rate=N/TIME, burst=N, key.concurrency=N, key.rate=N/TIME, key.weight=N, key:KEY.…; none removes one.",
            valueName: "limit"
        )
    ) var limits: [String] = []
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func check() throws { _ = try TypedLimits(limits) }

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        try NameRule.check(queue, role: "queue")
        let limits = try TypedLimits(limits).limits
        if !limits.isEmpty { try invocation.beginChange(asking: "set limits of queue \(queue)") }
        let client = try await invocation.connect()
        if limits.isEmpty {
            try await client.knownQueue(queue)
        } else {
            let known = try await client.queues()
            if !known.contains(queue) { noteNew(known, invocation) }
            _ = try await client.broker.setLimits(limits, by: SluiceClient.identity, queue: queue)
        }
        let snapshot = try await client.broker.snapshot(queue: queue, executingRows: 0)
        let console = invocation.console
        if invocation.format.isJSON {
            console.print(QueueJSON.object(snapshot), invocation.format)
        } else if invocation.format == .id {
            console.print(queue)
        } else {
            console.print(["\(queue): \(LimitText.line(snapshot, time: invocation.settings.time.content))"])
        }
        return .done
    }

    /// Prints a note for a queue that has never been used. A limit can be set before the first enqueue, but the name
    /// may be misspelled.
    private func noteNew(_ known: [String], _ invocation: Invocation) {
        let near = Suggestion.nearest(to: queue, among: known).map { "; did you mean \"\($0)\"?" } ?? ""
        invocation.console.note("queue \(queue) is new: it has never been used\(near)")
    }
}

/// Limits in the form of the command line: `concurrency=8 rate=100/s burst=20 key:acme.rate=5/s`.
struct TypedLimits {
    private static let fix = "\(Program.name) queue limit QUEUE concurrency=8 rate=100/s"
    private(set) var limits: [QueueLimit] = []
    /// The last typed rate and burst for each name. A burst may come before its rate.
    private var rates: [LimitName: QueueRate] = [:]
    private var bursts: [LimitName: Int] = [:]

    init(_ words: [String]) throws {
        for word in words {
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 2 else {
                throw CLIError.usage(
                    "\"\(word)\" is not a limit; expected LIMIT=VALUE, where LIMIT is concurrency, rate, burst, key.… "
                        + "or key:KEY.…",
                    fix: Self.fix
                )
            }
            try read(parts[0], parts[1])
        }
        for (name, burst) in bursts {
            guard let rate = rates[name] else {
                throw CLIError.usage(
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
            throw CLIError.usage(
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
        throw CLIError.usage(
            "\(name) cannot be \"\(text)\"; expected a number from 1\(orNone ? ", or none" : "")",
            fix: fix
        )
    }

    /// `100/s`, `20/1m`
    private static func rate(_ text: String, _ name: String) throws -> QueueRate {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, let count = Int(parts[0]) else {
            throw CLIError.usage(
                "\(name) cannot be \"\(text)\"; expected a number in a time, as 100/s or 20/1m, or none",
                fix: fix
            )
        }
        let isUnit = parts[1].first?.isLetter ?? false
        let period: Duration
        do { period = try DurationText.parse(isUnit ? "1" + parts[1] : parts[1]) } catch {
            throw CLIError.usage("\(name) cannot be \"\(text)\": \(error)", fix: fix)
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
