import Operations
import TerminalText

/// All reasons why an operation does not run.
package struct Explanation: Sendable {
    package let situation: Situation
    package let reasons: [(code: String, reason: WaitReason)]
    /// The operation that this one waits for, the operation that the first waits for, and so on.
    package var chain: [Explanation] = []

    package init(_ situation: Situation) {
        self.situation = situation
        let rules = situation.detail.isGroup ? WaitRule.ofGroups : WaitRule.all
        reasons = rules.compactMap { rule in rule.find(situation).map { (rule.code, $0) } }
    }

    /// A sentence with the first reason.
    package var sentence: String {
        let title = situation.detail.title(situation.view)
        let subject = "\(title) in queue \(situation.queue) is \(situation.state.rawValue)"
        guard let first = reasons.first else {
            return subject + ": nothing holds it back, the next free slot takes it"
        }
        let more = reasons.count - 1
        let others = more == 0 ? "" : " (and \(more) more \(more == 1 ? "reason" : "reasons"))"
        return "\(subject): \(first.reason.text)\(others)"
    }

    /// A command that helps, with the queue of the explained operation.
    package struct Advice: Sendable, Equatable {
        package let remedy: Remedy
        package let queue: String

        package init(remedy: Remedy, queue: String) { (self.remedy, self.queue) = (remedy, queue) }
    }

    /// The commands that help, each once, including those for the operations in `chain`. Leaves out `explain` for
    /// operations that the chain explains already.
    package var advice: [Advice] {
        var seen: Set<String> = []
        let explained = Set(chain.map(\.situation.detail.id))
        let all = ([self] + chain).flatMap { explanation in
            explanation.reasons.compactMap(\.reason.fix).map { Advice(remedy: $0, queue: explanation.situation.queue) }
        }
        return all.filter { advice in
            if case .explain(let name) = advice.remedy, explained.contains(name.id) { return false }
            return seen.insert(advice.remedy.command).inserted
        }
    }

    /// The first operation that this one waits for, in any queue; nil = none.
    package var leadsTo: DependencyName? {
        let codes = Set(reasons.map(\.code))
        if codes.contains("keyTaken"), let holder = situation.detail.keyHolder {
            return DependencyName(holder, queue: situation.queue)
        }
        guard !codes.isDisjoint(with: ["needs", "members", "cancelling"]), situation.state == .blocked else {
            return nil
        }
        guard let need = situation.detail.links.needs.first(where: { !$0.isMet }) else { return nil }
        return DependencyName(need.dependency.id, queue: need.dependency.queue ?? situation.queue)
    }

    /// The sentence, the facts, and the commands.
    package var lines: [String] {
        var lines = [SafeText.line("\(situation.id) \(sentence)")]
        for (code, reason) in reasons {
            lines.append("  " + code.padded(toWidth: 15) + SafeText.line(reason.text))
            for fact in reason.facts {
                lines.append("  " + "".padded(toWidth: 15) + SafeText.line("\(fact.name): \(fact.text)"))
            }
        }
        lines += chain.map { "  " + "because".padded(toWidth: 15) + SafeText.line("\($0.situation.id) \($0.sentence)") }
        return lines + advice.map { "  try:  " + SafeText.line($0.remedy.command) }
    }

    /// The object that `docs/schema/explanation.json` describes.
    package var json: JSONValue {
        let detail = situation.detail
        return [
            "v": 1,
            "id": .string(situation.id),
            "name": .string(situation.name),
            "queue": .string(situation.queue),
            "state": .string(situation.state.rawValue),
            "time": OperationJSON.time(situation.now),
            "sentence": .string(sentence),
            "reasons": .array(reasons.map(Self.json)),
            "because": .array(chain.map(\.link)),
            "dueAt": OperationJSON.time(detail.record.dueAt),
            "backlog": backlog,
            "startsPerSecond": situation.startsPerSecond.map { JSONValue($0) } ?? .null,
            "estimatedStartSeconds": situation.estimatedSeconds.map { .number($0) } ?? .null,
        ]
    }

    /// The JSON object for an operation in a chain.
    private var link: JSONValue {
        [
            "id": .string(situation.id),
            "queue": .string(situation.queue),
            "state": .string(situation.state.rawValue),
            "sentence": .string(sentence),
            "reasons": .array(reasons.map(Self.json)),
        ]
    }

    private var backlog: JSONValue {
        guard let backlog = situation.backlog else { return .null }
        return [
            "inLane": .number(backlog.inLane),
            "inHigherLanes": .number(backlog.inHigherLanes),
            "isLeast": .bool(backlog.isLeast),
        ]
    }

    private static func json(code: String, reason: WaitReason) -> JSONValue {
        [
            "code": .string(code),
            "text": .string(reason.text),
            "facts": .array(reason.facts.map { ["name": .string($0.name), "text": .string($0.text)] }),
            "fix": JSONValue(reason.fix?.command),
        ]
    }
}

// MARK: - Words of reasons

extension Situation {
    package var id: String { detail.id.description }

    /// The name of the operation in its own queue.
    var ownName: DependencyName { DependencyName(detail.id) }

    /// Whether a cancel of the whole queue has ended the waiting operation, and no sweep has cleared it away yet.
    package var isCancelledWithQueue: Bool { state == .cancelled && detail.record.state != .cancelled }

    package func ago(_ time: Int64) -> String { TimeText.relative(time, now: now) }
    package func left(until time: Int64) -> String { DurationText.precise(.milliseconds(time - now)) }

    /// `3s ago by ann: wrong file`
    package func text(of cancel: CancelTrace) -> String {
        "\(ago(cancel.requestedAt)) by \(cancel.by)" + (cancel.reason.isEmpty ? "" : ": \(cancel.reason)")
    }

    package func label(of row: WorkerRow) -> String { LiveWorker(row: row, info: WorkerInfo(row.info)).label }

    package func label(ofWorker id: String) -> String {
        snapshot.workers.first { $0.worker == id }.map(label) ?? id
    }

    /// The seconds until the operation starts, at the pace of the operations ahead of it; nil = unknown.
    package var estimatedSeconds: Int? {
        guard let backlog, let pace, pace.startsPerSecond > 0, !snapshot.paused, !takers.isEmpty else { return nil }
        return Int((Double(backlog.count + 1) / pace.startsPerSecond).rounded(.up))
    }

    package func estimate(_ backlog: Backlog) -> String {
        guard !liveWorkers.isEmpty else { return "no estimate: no live worker" }
        guard let pace, let estimatedSeconds else {
            let isStill = isMeasured && startsPerSecond == 0 && !snapshot.paused
            return isStill ? "no estimate: nothing was started in the last second" : "no estimate"
        }
        let least = backlog.isLeast ? "not before" : "in about"
        let seconds = DurationText.short(.seconds(estimatedSeconds))
        return "\(least) \(seconds) at \(QuantityText.rate(pace.startsPerSecond)) starts a second, \(pace.source)"
    }

    /// The rate at which the operations ahead start, and the source of that rate. Uses the limit key if the operation
    /// waits for it, else a reached rate limit of the queue, else the measured rate.
    private var pace: (startsPerSecond: Double, source: String)? {
        if detail.waitsForKey, let limitKey { return paceOfKey(limitKey) }
        if let rate = snapshot.limits.rate, snapshot.nextStartMilliseconds != nil {
            return (rate.perSecond, "the rate of the queue")
        }
        return startsPerSecond.map { ($0, "measured over a second") }
    }

    private func paceOfKey(_ key: LimitKeyState) -> (startsPerSecond: Double, source: String)? {
        let name = "key \(key.row.key)"
        let byRate = key.limit.rate.map { (startsPerSecond: $0.perSecond, source: "the rate of \(name)") }
        var byRuns: (startsPerSecond: Double, source: String)?
        if let concurrency = key.limit.concurrency, let meanRunSeconds, meanRunSeconds > 0 {
            let run = DurationText.precise(.milliseconds(Int64(meanRunSeconds * 1000)))
            byRuns = (
                Double(concurrency) / meanRunSeconds, "\(concurrency) of \(name) at once, which run \(run) on average"
            )
        }
        let bounds = [byRate, byRuns].compactMap { $0 }
        // The share of a key depends on the waiting operations of other keys, so it gives no estimate.
        guard bounds.isEmpty, key.limit.concurrency == nil else {
            return bounds.min { $0.startsPerSecond < $1.startsPerSecond }
        }
        return nil
    }
}
