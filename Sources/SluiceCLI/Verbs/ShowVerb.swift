import ArgumentParser
import Operations
import Sluice
import SluiceMonitor
import SluiceOperator
import TerminalText

package struct ShowVerb: Verb {
    package static let formats: Set<OutputFormat> = .all
    package static let effect = VerbEffect.reads

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "show",
            abstract: "Show all details of operations.",
            discussion: """
                EXAMPLES
                  \(Program.name) show 7QK2MX
                  \(Program.name) show 7QK2MX -o json
                """
        )
    }

    @OptionGroup package var targets: Targets
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        let references = try targets.references()
        guard !references.isEmpty else { throw CLIError.usage("nothing to show", fix: "\(Program.name) show ID") }
        let client = try await invocation.connectReadingClock()
        let details = try await Locator(client).details(references)
        let console = invocation.console
        switch invocation.format {
        case .json, .jsonl:
            for detail in details { console.print(OperationJSON.object(detail, invocation.view), invocation.format) }
        case .id: console.print(details.map(\.id.description))
        case .csv: console.print(OperationTable(details, invocation).csv)
        case .table, .wide:
            var cards: [[String]] = []
            for detail in details {
                let note = try await unhandledNote(detail, client)
                let groups = try await groups(of: detail, client)
                cards.append(OperationCard(detail, invocation, note: note, groups: groups).lines)
            }
            console.print(Array(cards.joined(separator: [""])))
        }
        return .done
    }

    /// The groups that the operation is a member of, as far as they are among its first dependents.
    private func groups(of detail: OperationDetail, _ client: SluiceClient) async throws -> [OperationDetail] {
        let links = detail.links
        var names = links.dependents.map { DependencyName($0) }
        if !links.dependentQueues.isEmpty {
            names = try await client.broker.edges(
                .dependents,
                of: detail.id,
                limit: OperationNeeds.shown,
                queue: detail.queue
            )
        }
        var groups: [OperationDetail] = []
        for (queue, names) in Dictionary(grouping: names, by: { $0.queue ?? detail.queue }).sorted(by: {
            $0.key < $1.key
        }) {
            groups += try await client.broker.details(names.map(\.id), queue: queue).compactMap { $0 }.filter(\.isGroup)
        }
        return groups
    }

    /// The reason why an operation waits although it is ready.
    private func unhandledNote(_ detail: OperationDetail, _ client: SluiceClient) async throws -> String? {
        guard detail.isUnhandled else { return nil }
        let snapshot = try await client.broker.snapshot(queue: detail.queue, executingRows: 0)
        let name = detail.envelope.name
        return UnhandledNote(queue: detail.queue, name: name, count: 1, isKnown: snapshot.handles(name)).reason
    }
}

/// The details of an operation, a line for each.
struct OperationCard {
    private let detail: OperationDetail
    private let invocation: Invocation
    private let reading: EnvelopeReading
    /// The reason why the operation waits although it is ready.
    private let note: String?
    /// The groups that the operation is a member of.
    private let groups: [OperationDetail]
    private var envelope: OperationEnvelope { reading.envelope }

    init(_ detail: OperationDetail, _ invocation: Invocation, note: String? = nil, groups: [OperationDetail] = []) {
        self.note = note
        self.groups = groups
        self.detail = detail
        self.invocation = invocation
        reading = detail.reading(invocation.view)
    }

    var lines: [String] {
        let style = invocation.console.output
        let head =
            "\(detail.id)  \(SafeText.line(title))  \(style.mark(detail.state)) \(style.word(detail.state))"
        return [head] + facts.map { "  " + $0.name.padded(toWidth: 11) + SafeText.line($0.text) }
    }

    private var title: String { detail.title(invocation.view) }

    private var facts: [(name: String, text: String)] {
        let record = detail.record
        var facts: [(name: String, text: String)] = [("queue", detail.queue)]
        if detail.isGroup {
            facts += group
        } else {
            facts += [
                ("priority", record.header.priority.rawValue),
                ("attempt", "\(record.attempt) of \(envelope.maxAttempts), delivery \(record.header.delivery)"),
            ]
        }
        if let note { facts.append(("waits", note)) }
        if let worker = detail.worker { facts.append(("worker", worker)) }
        if let key = detail.limitKey {
            facts.append(("limit key", key + (detail.waitsForKey ? ", waits for others of the key" : "")))
        }
        if !envelope.tags.isEmpty { facts.append(("tags", envelope.tags.joined(separator: ", "))) }
        facts += envelope.headers.sorted { $0.key < $1.key }.map { ("header", "\($0.key)=\($0.value)") }
        if let schedule = envelope.schedule { facts.append(("schedule", schedule)) }
        facts += times
        facts += pauses
        if let progress = detail.progress {
            facts.append(("progress", "\(QuantityText.percent(progress.fraction)) \(progress.message)"))
        }
        facts.append(("arguments", reading.hiddenArguments ?? OperationJSON.json(envelope.arguments).serialized()))
        if let signature = reading.signature { facts.append(("signed", signature)) }
        if let failure = reading.failure {
            facts.append(("quarantine", "\(failure.code.rawValue): \(failure.message)"))
        }
        if let result = detail.result(invocation.view), !result.isEmpty {
            facts.append(("result", OperationJSON.json(result).serialized()))
        }
        facts += detail.errors.map {
            (
                "error",
                "#\($0.failure.attempt) \(time($0.at)): \($0.failure.sentence)\(Self.details($0))\(Self.verdict($0))"
            )
        }
        return facts + recoveries + links + unique + hold + cancel
    }

    /// The recoveries of the operation from lost workers.
    private var recoveries: [(name: String, text: String)] {
        detail.recoveries.map { recovery in
            let run = "attempt \(recovery.attempt), delivery \(recovery.delivery), started \(time(recovery.startedAt))"
            return ("recovered", "\(time(recovery.at)) from \(recovery.place): \(recovery.cause.sentence); \(run)")
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

    private var times: [(name: String, text: String)] {
        let record = detail.record
        let due: Int64 = detail.state == .scheduled || detail.state == .retrying ? record.dueAt : 0
        let all: [(name: String, at: Int64)] = [
            ("enqueued", record.enqueuedAt), ("due", due), ("expires", record.header.expiresAt),
            ("started", record.startedAt), ("ended", record.endedAt),
        ]
        return all.filter { $0.at > 0 }.map { ($0.name, time($0.at)) }
    }

    private var unique: [(name: String, text: String)] {
        guard let key = detail.uniqueKey else { return [] }
        guard detail.waitsForTurn else { return [("unique", key)] }
        return [("unique", key), ("waits for", detail.keyHolder.map { "the end of \($0)" } ?? "its turn at the key")]
    }

    /// The number of snoozes and yields, and the labels of effects that are done once.
    private var pauses: [(name: String, text: String)] {
        var facts: [(name: String, text: String)] = []
        if let snooze = detail.snooze {
            let until = detail.snoozedUntil.map { ", until \(time($0))" } ?? ""
            let text = QuantityText.times(snooze.count) + until
            facts.append(("snoozed", snooze.reason.isEmpty ? text : text + ": " + snooze.reason))
        }
        if detail.yields > 0 { facts.append(("yielded", QuantityText.times(detail.yields))) }
        let labels = detail.stored.once.keys.sorted()
        if !labels.isEmpty { facts.append(("once", labels.joined(separator: ", "))) }
        return facts
    }

    /// The state of a group, and its fate if its opener disappears.
    private var group: [(name: String, text: String)] {
        let links = detail.links
        let place = links.isOpen ? "open" : "closed"
        let terms = links.isOpen ? links.group.map { "; \($0.text)" } ?? "" : ""
        return [("group", place + terms), ("members", detail.membersText)]
    }

    private var links: [(name: String, text: String)] {
        let links = detail.links
        var facts = links.needs.map { need in
            let name = need.policy == .member ? "member" : need.isMet ? "needed" : "needs"
            return (name: name, text: "\(need.dependency.name) \(need.text)")
        }
        if links.needCount > facts.count {
            let more = QuantityText.grouped(links.needCount - facts.count)
            facts.append((detail.isGroup ? "member" : "needs", "\(more) more"))
        }
        facts += groups.map { group in
            let name = DependencyName(group.id, queue: group.queue == detail.queue ? nil : group.queue)
            return ("in group", "\(name) \(group.groupName(invocation.view) ?? "")")
        }
        if !links.dependentQueues.isEmpty {
            facts.append(("needed in", "queue \(links.dependentQueues.joined(separator: ", "))"))
        }
        let inGroups = Set(groups.filter { $0.queue == detail.queue }.map(\.id))
        let others = links.dependents.filter { !inGroups.contains($0) }
        let count = links.dependentCount - inGroups.count
        guard count > 0 else { return facts }
        let shown = others.prefix(5)
        let more = count > shown.count ? " and \(QuantityText.grouped(count - shown.count)) more" : ""
        return facts + [("needed by", shown.map(\.description).joined(separator: ", ") + more)]
    }

    private var hold: [(name: String, text: String)] {
        guard let trace = detail.hold else { return [] }
        let text = "since \(time(trace.at)) by \(trace.by)"
        return [("held", trace.reason.isEmpty ? text : text + ": " + trace.reason)]
    }

    private var cancel: [(name: String, text: String)] {
        guard let trace = detail.cancel else { return [] }
        var text = "requested \(time(trace.requestedAt)) by \(trace.by)"
        if let at = trace.acknowledgedAt { text += ", acknowledged \(time(at))" }
        if let at = trace.stoppedAt { text += ", stopped \(time(at))" }
        if let standing = trace.standing { text += ", by standing cancel \(detail.queue)/\(standing) before it began" }
        let facts = [("cancel", trace.reason.isEmpty ? text : text + ": " + trace.reason)]
        guard let forced = trace.forced else { return facts }
        var force = "\(time(forced.at)) by \(forced.by); what \(forced.worker) still writes is refused"
        if trace.stoppedAt == nil { force += ", and it has not reported that the body has stopped" }
        return facts + [("forced", forced.reason.isEmpty ? force : force + ": " + forced.reason)]
    }

    /// Formats a time in the given style. A relative time follows the exact one, because a line has room for both.
    private func time(_ milliseconds: Int64) -> String {
        let style = invocation.settings.time.content
        let text = TimeText.format(milliseconds, style, now: invocation.now)
        return style == .relative ? "\(TimeText.rfc3339(milliseconds)) (\(text))" : text
    }
}
