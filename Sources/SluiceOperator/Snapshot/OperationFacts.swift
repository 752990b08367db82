import Operations
import TerminalText

/// The facts about an operation, for `sluice show` and the dashboard.
package struct OperationFacts: Sendable {
    private let detail: OperationDetail
    private let reading: EnvelopeReading
    private let view: PayloadView
    /// The reason why the operation waits although it is ready; nil = unknown.
    private let note: String?
    /// The groups that the operation is a member of.
    private let groups: [OperationDetail]

    package init(_ detail: OperationDetail, _ view: PayloadView, note: String? = nil, groups: [OperationDetail] = []) {
        (self.detail, self.view, self.note, self.groups) = (detail, view, note, groups)
        reading = detail.reading(view)
    }

    package var all: [OperationFact] {
        place + labels + times + pauses + progress + payload + errors + recoveries + dependencies + uniqueKey + hold
            + cancel
    }

    // MARK: Place and labels

    private var place: [OperationFact] {
        let record = detail.record
        var facts = [OperationFact(.place, "queue", .value(detail.queue, field: "queue"))]
        if detail.isGroup {
            facts += group
        } else {
            let attempt = "\(record.attempt) of \(reading.envelope.maxAttempts), delivery \(record.header.delivery)"
            facts.append(OperationFact(.place, "priority", "\(record.header.priority.rawValue)"))
            facts.append(OperationFact(.place, "attempt", "\(attempt)"))
        }
        if let note { facts.append(OperationFact(.place, "waits", "\(note)")) }
        if record.fence > 0 { facts.append(OperationFact(.place, "fence", "\(record.fence)")) }
        if let worker = detail.worker { facts.append(OperationFact(.place, "worker", .worker(worker))) }
        if let worker = detail.ranOn { facts.append(OperationFact(.place, "ran on", .worker(worker))) }
        return facts
    }

    /// The state of a group, and its fate if its opener disappears.
    private var group: [OperationFact] {
        let links = detail.links
        let terms = links.isOpen ? links.group.map { "; \($0.text)" } ?? "" : ""
        return [
            OperationFact(.place, "group", "\(links.isOpen ? "open" : "closed")\(terms)"),
            OperationFact(.place, "members", "\(detail.membersText)"),
        ]
    }

    private var labels: [OperationFact] {
        let envelope = reading.envelope
        var facts: [OperationFact] = []
        if let key = detail.limitKey {
            let waits = detail.waitsForKey ? ", waits for others of the key" : ""
            facts.append(OperationFact(.keys, "limit key", .value(key, field: "limitKey"), "\(waits)"))
        }
        if !envelope.tags.isEmpty {
            var tags = OperationFact(.place, "tags")
            for tag in envelope.tags {
                if !tags.parts.isEmpty { tags.parts.append(", ") }
                tags.parts.append(.value(tag, field: "tag"))
            }
            facts.append(tags)
        }
        facts += envelope.headers.sorted { $0.key < $1.key }.map { key, value in
            OperationFact(.place, "header", "\(key)=\(value)")
        }
        if let schedule = envelope.schedule {
            facts.append(OperationFact(.place, "schedule", .value(schedule, field: "schedule")))
        }
        if let origin = envelope.rerunOf { facts.append(OperationFact(.place, "rerun of", .operation(origin))) }
        return facts
    }

    // MARK: Times and pauses

    private var times: [OperationFact] {
        let record = detail.record
        let due: Int64 = detail.state == .scheduled || detail.state == .retrying ? record.dueAt : 0
        let all: [(name: String, at: Int64)] = [
            ("enqueued", record.enqueuedAt), ("due", due), ("expires", record.header.expiresAt),
            ("started", record.startedAt), ("ended", record.endedAt),
        ]
        return all.filter { $0.at > 0 }.map { OperationFact(.times, $0.name, .time($0.at)) }
    }

    /// The number of snoozes and yields, and the labels of effects that are done once.
    private var pauses: [OperationFact] {
        var facts: [OperationFact] = []
        if let snooze = detail.snooze {
            var fact = OperationFact(.control, "snoozed", "\(QuantityText.times(snooze.count))")
            if let until = detail.snoozedUntil { fact.parts += [", until ", .time(until)] }
            facts.append(fact.adding(snooze.reason))
        }
        if detail.yields > 0 {
            facts.append(OperationFact(.control, "yielded", "\(QuantityText.times(detail.yields))"))
        }
        if let checkpoint = detail.checkpoint {
            facts.append(OperationFact(.control, "checkpoint", "\(QuantityText.bytes(checkpoint.count))"))
        }
        let labels = detail.stored.once.keys.sorted()
        if !labels.isEmpty { facts.append(OperationFact(.control, "once", "\(labels.joined(separator: ", "))")) }
        return facts
    }

    private var progress: [OperationFact] {
        guard let progress = detail.progress else { return [] }
        let text = "\(QuantityText.percent(progress.fraction)) \(progress.message)"
        return [OperationFact(.payload, "progress", "\(text)")]
    }

    // MARK: Payload and errors

    private var payload: [OperationFact] {
        let arguments = reading.hiddenArguments ?? OperationJSON.json(reading.envelope.arguments).serialized()
        var facts = [OperationFact(.payload, "arguments", "\(arguments)")]
        if let signature = reading.signature { facts.append(OperationFact(.place, "signed", "\(signature)")) }
        if let failure = reading.failure {
            facts.append(OperationFact(.place, "quarantine", "\(failure.code.rawValue): \(failure.message)"))
        }
        if let result = detail.result(view), !result.isEmpty {
            facts.append(OperationFact(.payload, "result", "\(OperationJSON.json(result).serialized())"))
        }
        return facts
    }

    private var errors: [OperationFact] {
        detail.errors.map { error in
            let text = "\(error.failure.sentence)\(Self.details(error))\(Self.verdict(error))"
            return OperationFact(.errors, "error", "#\(error.failure.attempt) ", .time(error.at), ": \(text)")
        }
    }

    /// The outcome of a failed attempt, unless the attempt's number shows it.
    private static func verdict(_ attempt: FailedAttempt) -> String {
        switch attempt.failure.verdict {
        case .discarded: "; discarded: no longer wanted"
        case .final: "; dead: the error is not retryable"
        default: ""
        }
    }

    private static func details(_ attempt: FailedAttempt) -> String {
        guard let details = attempt.failure.details, !details.isEmpty else { return "" }
        return " (" + details.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ") + ")"
    }

    /// The recoveries of the operation from lost workers.
    private var recoveries: [OperationFact] {
        detail.recoveries.map { recovery in
            OperationFact(
                .control,
                "recovered",
                .time(recovery.at),
                " from \(recovery.place): \(recovery.cause.sentence)",
                "; attempt \(recovery.attempt), delivery \(recovery.delivery), started ",
                .time(recovery.startedAt)
            )
        }
    }

    // MARK: Dependencies and keys

    private var dependencies: [OperationFact] {
        let links = detail.links
        var facts = links.needs.map { need in
            let name = need.policy == .member ? "member" : need.isMet ? "needed" : "needs"
            return OperationFact(.dependencies, name, "\(need.dependency.name) \(need.text)")
        }
        if links.needCount > facts.count {
            let more = "\(QuantityText.grouped(links.needCount - facts.count)) more"
            facts.append(OperationFact(.dependencies, detail.isGroup ? "member" : "needs", "\(more)"))
        }
        facts += groups.map { group in
            let name = DependencyName(group.id, queue: group.queue == detail.queue ? nil : group.queue)
            return OperationFact(.dependencies, "in group", "\(name) \(group.groupName(view) ?? "")")
        }
        if !links.dependentQueues.isEmpty {
            let queues = links.dependentQueues.joined(separator: ", ")
            facts.append(OperationFact(.dependencies, "needed in", "queue \(queues)"))
        }
        return facts + dependents
    }

    private var dependents: [OperationFact] {
        let links = detail.links
        let inGroups = Set(groups.filter { $0.queue == detail.queue }.map(\.id))
        let others = links.dependents.filter { !inGroups.contains($0) }
        let count = links.dependentCount - inGroups.count
        guard count > 0 else { return [] }
        let shown = others.prefix(5)
        let more = count > shown.count ? " and \(QuantityText.grouped(count - shown.count)) more" : ""
        let names = shown.map(\.description).joined(separator: ", ")
        return [OperationFact(.dependencies, "needed by", "\(names)\(more)")]
    }

    private var uniqueKey: [OperationFact] {
        guard let key = detail.uniqueKey else { return [] }
        var facts = [OperationFact(.keys, "unique", .value(key, field: "unique"))]
        guard detail.waitsForTurn else { return facts }
        if let holder = detail.keyHolder {
            facts.append(OperationFact(.keys, "waits for", "the end of ", .operation(holder)))
        } else {
            facts.append(OperationFact(.keys, "waits for", "its turn at the key"))
        }
        return facts
    }

    // MARK: Hold and cancel

    private var hold: [OperationFact] {
        guard let trace = detail.hold else { return [] }
        let fact = OperationFact(.control, "held", "since ", .time(trace.at), " by \(trace.by)")
        return [fact.adding(trace.reason)]
    }

    private var cancel: [OperationFact] {
        guard let trace = detail.cancel else { return [] }
        var fact = OperationFact(.control, "cancel", "requested ", .time(trace.requestedAt), " by \(trace.by)")
        if let at = trace.acknowledgedAt { fact.parts += [", acknowledged ", .time(at)] }
        if let at = trace.stoppedAt { fact.parts += [", stopped ", .time(at)] }
        if let standing = trace.standing {
            fact.parts.append(", by standing cancel \(detail.queue)/\(standing) before it began")
        }
        fact = fact.adding(trace.reason)
        guard let forced = trace.forced else { return [fact] }
        let refused = " by \(forced.by); what \(forced.worker) still writes is refused"
        var force = OperationFact(.control, "forced", .time(forced.at), "\(refused)")
        if trace.stoppedAt == nil { force.parts.append(", and it has not reported that the body has stopped") }
        return [fact, force.adding(forced.reason)]
    }
}
