import Operations
import SluiceMonitor
import TerminalText

/// Why an operation does not run: every reason that holds.
struct Explanation: Sendable {
    let situation: Situation
    let reasons: [(code: String, reason: WaitReason)]

    init(_ situation: Situation) {
        self.situation = situation
        let rules = situation.detail.isGroup ? WaitRule.ofGroups : WaitRule.all
        reasons = rules.compactMap { rule in rule.find(situation).map { (rule.code, $0) } }
    }

    /// One sentence with the first reason.
    var sentence: String {
        let title = situation.detail.title(situation.view)
        let subject = "\(title) in queue \(situation.queue) is \(situation.state.rawValue)"
        guard let first = reasons.first else {
            return subject + ": nothing holds it back, the next free slot takes it"
        }
        let more = reasons.count - 1
        let others = more == 0 ? "" : " (and \(more) more \(more == 1 ? "reason" : "reasons"))"
        return "\(subject): \(first.reason.text)\(others)"
    }

    /// Commands that change something, each once.
    var fixes: [String] {
        var seen: Set<String> = []
        return reasons.compactMap { $0.reason.fix.map { Program.command($0) } }.filter { seen.insert($0).inserted }
    }

    /// The sentence, the facts, the commands.
    var lines: [String] {
        var lines = [SafeText.line("\(situation.id) \(sentence)")]
        for (code, reason) in reasons {
            lines.append("  " + code.padded(toWidth: 15) + SafeText.line(reason.text))
            for fact in reason.facts {
                lines.append("  " + "".padded(toWidth: 15) + SafeText.line("\(fact.name): \(fact.text)"))
            }
        }
        return lines + fixes.map { "  try:  " + SafeText.line($0) }
    }

    /// The object that `docs/schema/explanation.json` describes.
    var json: JSONValue {
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
            "dueAt": OperationJSON.time(detail.record.dueAt),
            "backlog": backlog,
            "startsPerSecond": situation.startsPerSecond.map { JSONValue($0) } ?? .null,
            "estimatedStartSeconds": situation.estimatedSeconds.map { .number($0) } ?? .null,
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
            "fix": JSONValue(reason.fix.map { Program.command($0) }),
        ]
    }
}

// MARK: - Words of reasons

extension Situation {
    var id: String { detail.id.description }

    /// It waited when its whole queue was cancelled, and is not cleared away yet.
    var isCancelledWithQueue: Bool { state == .cancelled && detail.record.state != .cancelled }

    func ago(_ time: Int64) -> String { TimeText.relative(time, now: now) }
    func left(until time: Int64) -> String { DurationText.precise(.milliseconds(time - now)) }

    /// `3s ago by ann: wrong file`
    func text(of cancel: CancelTrace) -> String {
        "\(ago(cancel.requestedAt)) by \(cancel.by)" + (cancel.reason.isEmpty ? "" : ": \(cancel.reason)")
    }

    func label(of row: WorkerRow) -> String { LiveWorker(row: row, info: WorkerInfo(row.info)).label }

    func label(ofWorker id: String) -> String {
        snapshot.workers.first { $0.worker == id }.map(label) ?? id
    }

    /// Seconds until it starts, if the queue goes on as it was measured; nil = cannot be said.
    var estimatedSeconds: Int? {
        guard let backlog, let startsPerSecond, startsPerSecond > 0, !snapshot.paused, !takers.isEmpty else {
            return nil
        }
        return Int((Double(backlog.count + 1) / startsPerSecond).rounded(.up))
    }

    func estimate(_ backlog: Backlog) -> String {
        guard let startsPerSecond else { return "no estimate: no live worker" }
        guard let estimatedSeconds else {
            return startsPerSecond > 0 ? "no estimate" : "no estimate: nothing was started in the last second"
        }
        let least = backlog.isLeast ? "not before" : "in about"
        let seconds = DurationText.short(.seconds(estimatedSeconds))
        return "\(least) \(seconds) at \(QuantityText.rate(startsPerSecond)) starts a second, measured over a second"
    }
}
