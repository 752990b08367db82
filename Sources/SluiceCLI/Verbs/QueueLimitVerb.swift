import ArgumentParser
import Operations
import Selectors
import Sluice
import SluiceMonitor
import TerminalText

package struct QueueLimitVerb: Verb {
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
                  \(Program.name) queue limit mail concurrency=none rate=none
                  \(Program.name) queue limit mail

                concurrency=N: at most N operations of the queue run at once, on all workers together; 1 makes it a serial queue. A change holds \
                for the next operations; what runs goes on. rate=N/TIME: at most N operations start in that time, on all workers together, with \
                burst=B as many as B at once; without it, as many as start in a second. key.concurrency=N: of the operations with one limit key (enqueue --key) at most N run at once; \
                key:KEY.concurrency=N sets it for one key. Keys get equal shares of a busy queue; key:KEY.weight=N gives one key N times as much. \
                none removes a limit. Without a limit after the queue: shows its limits.
                """
        )
    }

    @Argument(help: "The queue.") var queue: String
    @Argument(
        help: ArgumentHelp(
            "concurrency=N, rate=N/TIME, burst=N, key.concurrency=N, key.weight=N, key:KEY.…; none removes one.",
            valueName: "limit"
        )
    ) var limits: [String] = []
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func check() throws { _ = try TypedLimits(limits) }

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        try NameRule.check(queue, role: "queue")
        let limits = try TypedLimits(limits).limits
        if !limits.isEmpty { try invocation.requireWritable() }
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
        } else {
            console.print(["\(queue): \(LimitText.line(snapshot, time: invocation.settings.time.content))"])
        }
        return .done
    }

    /// A limit may be set before the first operation comes, or to a misspelled queue.
    private func noteNew(_ known: [String], _ invocation: Invocation) {
        let near = Suggestion.nearest(to: queue, among: known).map { "; did you mean \"\($0)\"?" } ?? ""
        invocation.console.note("queue \(queue) has never been used\(near)")
    }
}

/// Limits as they are typed: `concurrency=8 rate=100/s burst=20`.
struct TypedLimits {
    private static let fix = "\(Program.name) queue limit QUEUE concurrency=8 rate=100/s"
    private(set) var limits: [QueueLimit] = []

    init(_ words: [String]) throws {
        var rate: QueueRate?
        var burst: Int?
        for word in words {
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 2 else {
                throw CLIError.usage(
                    "\"\(word)\" is no limit; expected concurrency=N, rate=N/TIME or burst=N",
                    fix: Self.fix
                )
            }
            switch (parts[0], parts[1]) {
            case ("concurrency", "none"): limits.append(.concurrency(nil))
            case ("concurrency", let text): limits.append(.concurrency(try Self.number(text, "concurrency")))
            case ("rate", "none"): limits.append(.rate(nil))
            case ("rate", let text): rate = try Self.rate(text)
            case ("burst", let text): burst = try Self.number(text, "burst")
            case (let name, let text):
                guard let limit = try Self.keyLimit(name, text) else {
                    throw CLIError.usage(
                        "unknown limit \"\(name)\"; expected concurrency, rate, burst, key.concurrency, key.weight or key:KEY.…",
                        fix: Self.fix
                    )
                }
                limits.append(limit)
            }
        }
        if let rate {
            limits.append(.rate(QueueRate(rate.count, per: rate.period, burst: burst)))
        } else if burst != nil {
            throw CLIError.usage("burst needs a rate beside it", fix: Self.fix)
        }
        for limit in limits { try limit.check() }
    }

    /// `key.concurrency`, `key:acme.weight`; nil = another name. A key may have dots.
    private static func keyLimit(_ name: String, _ text: String) throws -> QueueLimit? {
        guard name.hasPrefix("key"), let dot = name.lastIndex(of: ".") else { return nil }
        let (about, word) = (name[..<dot], name[name.index(after: dot)...])
        guard about == "key" || about.hasPrefix("key:") else { return nil }
        let key = about == "key" ? nil : String(about.dropFirst("key:".count))
        let value = text == "none" ? nil : try number(text, name)
        return switch word {
        case "concurrency": .keyConcurrency(value, of: key)
        case "weight": .keyWeight(value, of: key)
        default: nil
        }
    }

    private static func number(_ text: String, _ name: String) throws -> Int {
        if let number = Int(text) { return number }
        throw CLIError.usage("\(name) cannot be \"\(text)\"; expected a number from 1, or none", fix: fix)
    }

    /// `100/s`, `20/1m`
    private static func rate(_ text: String) throws -> QueueRate {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, let count = Int(parts[0]) else {
            throw CLIError.usage(
                "rate cannot be \"\(text)\"; expected a number in a time, as 100/s or 20/1m, or none",
                fix: fix
            )
        }
        let isUnit = parts[1].first?.isLetter ?? false
        let period: Duration
        do { period = try DurationText.parse(isUnit ? "1" + parts[1] : parts[1]) } catch {
            throw CLIError.usage("rate cannot be \"\(text)\": \(error)", fix: fix)
        }
        // Its burst is that of the rate alone; a rate below 1 is refused by its check.
        return QueueRate(count, per: period)
    }
}

/// The limits of a queue as text.
enum LimitText {
    /// `concurrency 8, rate 100/s (burst 100), 3 executing; set 5 m ago by ann@host`
    static func line(_ snapshot: QueueSnapshot, time: TimeStyle) -> String {
        let limits =
            [
                snapshot.limits.concurrency.map { "concurrency \(QuantityText.grouped($0))" },
                snapshot.limits.rate.map(text),
            ].compactMap { $0 } + ofKeys(snapshot.limits)
        if limits.isEmpty { return "no limits" }
        let executing = QuantityText.grouped(snapshot.counts[.executing] ?? 0)
        let line = limits.joined(separator: ", ") + ", \(executing) executing"
        guard let set = snapshot.limitsSet else { return line }
        return SafeText.line("\(line); set \(TimeText.format(set.at, time, now: snapshot.time)) by \(set.by)")
    }

    private static let shownKeys = 5

    /// The limit keys with most ready operations, one a line below an empty one.
    static func keys(_ snapshot: QueueSnapshot) -> [String] {
        guard !snapshot.limitKeys.isEmpty else { return [] }
        let rows = snapshot.limitKeys.prefix(shownKeys).map { row in
            let places = snapshot.limits.limit(of: row.key).concurrency.map { "/" + QuantityText.grouped($0) } ?? ""
            return "key  \(row.key)  \(QuantityText.grouped(row.ready)) ready  "
                + "\(QuantityText.grouped(row.executing))\(places) executing"
        }
        let others = snapshot.limitKeyCount - rows.count
        return [""] + rows + (others > 0 ? ["key  \(QuantityText.grouped(others)) others"] : [])
    }

    /// `key.concurrency 2`, `key:acme.weight 4`
    private static func ofKeys(_ limits: QueueLimits) -> [String] {
        let keys = [("key", limits.perKey)] + limits.keys.sorted { $0.key < $1.key }.map { ("key:" + $0.key, $0.value) }
        return keys.flatMap { name, limit in
            [("concurrency", limit.concurrency), ("weight", limit.weight)].compactMap { word, number in
                number.map { "\(name).\(word) \(QuantityText.grouped($0))" }
            }
        }
    }

    /// `rate 100/s (burst 100)`
    static func text(_ rate: QueueRate) -> String {
        let period = rate.period == .seconds(1) ? "s" : DurationText.precise(rate.period)
        return "rate \(QuantityText.grouped(rate.count))/\(period) (burst \(QuantityText.grouped(rate.burst)))"
    }
}
