import Operations
import SluiceOperator
import TerminalText

/// The facts about an operation as pairs of name and value.
struct OperationFacts {
    let detail: OperationDetail
    let reading: EnvelopeReading
    let visit: Visit
    let now: Int64?
    let workers: [WorkerSummary]

    private struct Fact {
        let name: String
        let value: Markup

        init(_ name: String, @MarkupBuilder _ value: () -> Markup) { (self.name, self.value) = (name, value()) }
    }

    var markup: Markup {
        tag("section", .class("panel")) {
            tag("dl", .class("facts")) {
                (place + times + envelope + keys + traces).map { fact in
                    parts {
                        tag("dt", text: fact.name)
                        tag("dd") { fact.value }
                    }
                }
            }
        }
    }

    private func query(_ field: String, _ value: String) -> Markup {
        tag("a", .href(visit.links.to("ops", query: ["q": QueryText.term(field, value)])), text: value)
    }

    private var place: [Fact] {
        let record = detail.record
        var facts = [Fact("queue") { query("queue", detail.queue) }]
        if detail.isGroup {
            facts.append(Fact("members") { detail.membersText })
        } else {
            facts.append(Fact("priority") { record.header.priority.rawValue })
            facts.append(
                Fact("attempt") {
                    "\(record.attempt) of \(reading.envelope.maxAttempts), delivery \(record.header.delivery)"
                }
            )
        }
        if record.fence > 0 { facts.append(Fact("fence") { "\(record.fence)" }) }
        if let worker = detail.worker {
            let label = workers.first { $0.id == worker }?.label ?? worker
            facts.append(Fact("worker") { label })
        }
        if let progress = detail.progress, !detail.state.isTerminal {
            let text = ProgressText.running(fraction: progress.fraction, message: progress.message)
            facts.append(Fact("progress") { ProgressView.markup(text) })
        }
        return facts
    }

    private var times: [Fact] {
        let record = detail.record
        let due = detail.state == .scheduled || detail.state == .retrying ? record.dueAt : 0
        let times = [
            ("enqueued", record.enqueuedAt), ("due", due), ("expires", record.header.expiresAt),
            ("started", record.startedAt), ("ended", record.endedAt),
        ]
        return times.filter { $0.1 > 0 }.map { name, time in Fact(name) { TimeView.markup(time, now: now) } }
    }

    private var envelope: [Fact] {
        let envelope = reading.envelope
        var facts = [Fact("name") { query("name", envelope.name) }]
        if !envelope.tags.isEmpty {
            facts.append(
                Fact("tags") {
                    envelope.tags.map { tagText in
                        parts {
                            query("tag", tagText); " "
                        }
                    }
                }
            )
        }
        facts += envelope.headers.sorted { $0.key < $1.key }.map { key, value in Fact("header") { "\(key)=\(value)" } }
        if let schedule = envelope.schedule { facts.append(Fact("schedule") { query("schedule", schedule) }) }
        if let origin = envelope.rerunOf { facts.append(Fact("rerun of") { "\(origin)" }) }
        if let signature = reading.signature { facts.append(Fact("signed") { signature }) }
        if let failure = reading.failure { facts.append(Fact("quarantine") { failure.message }) }
        return facts
    }

    private var keys: [Fact] {
        var facts: [Fact] = []
        if let key = detail.limitKey { facts.append(Fact("limit key") { query("limitKey", key) }) }
        if let key = detail.uniqueKey { facts.append(Fact("unique key") { query("unique", key) }) }
        if let holder = detail.keyHolder {
            facts.append(Fact("key is held by") { OperationLink.markup(holder, queue: detail.queue, visit.links) })
        }
        let labels = detail.stored.once.keys.sorted()
        if !labels.isEmpty { facts.append(Fact("done once") { labels.joined(separator: ", ") }) }
        if let checkpoint = detail.checkpoint {
            facts.append(Fact("checkpoint") { QuantityText.bytes(checkpoint.count) })
        }
        if detail.yields > 0 { facts.append(Fact("yielded") { QuantityText.times(detail.yields) }) }
        return facts
    }

    private var traces: [Fact] {
        var facts: [Fact] = []
        if let snooze = detail.snooze {
            facts.append(
                Fact("snoozed") {
                    QuantityText.times(snooze.count) + (snooze.reason.isEmpty ? "" : ": \(snooze.reason)")
                }
            )
        }
        if let hold = detail.hold { facts.append(Fact("held") { trace(hold.at, hold.by, hold.reason) }) }
        if let cancel = detail.cancel {
            facts.append(Fact("cancel asked") { trace(cancel.requestedAt, cancel.by, cancel.reason) })
            if let at = cancel.acknowledgedAt { facts.append(Fact("cancel heard") { TimeView.markup(at, now: now) }) }
            if let at = cancel.stoppedAt { facts.append(Fact("body stopped") { TimeView.markup(at, now: now) }) }
            if let forced = cancel.forced {
                facts.append(Fact("forced") { trace(forced.at, forced.by, forced.reason) })
            }
        }
        return facts
    }

    private func trace(_ at: Int64, _ by: String, _ reason: String) -> Markup {
        parts {
            TimeView.markup(at, now: now)
            " by \(by)" + (reason.isEmpty ? "" : ": \(reason)")
        }
    }
}
