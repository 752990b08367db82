import ArgumentParser
import Operations
import Sluice
import SluiceMonitor
import SluiceOperator
import TerminalText

package struct GroupShowVerb: GroupVerb {
    package static let formats: Set<OutputFormat> = .all
    package static let effect = VerbEffect.reads

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "show",
            abstract: "Show a group: its progress, and which members have not finished.",
            discussion: """
                EXAMPLES
                  \(Program.name) group show nightly-2026-01-31
                  \(Program.name) group show 7QK2MX -o json

                Of large groups 10,000 members are counted by their states; the totals are those of all members.
                """
        )
    }

    @OptionGroup package var target: GroupTarget
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func perform(
        _ group: GroupSummary,
        _ client: SluiceClient,
        _ invocation: Invocation
    ) async throws -> ExitStatus {
        let console = invocation.console
        switch invocation.format {
        case .json, .jsonl:
            let states = try await MemberStates(of: group, client.broker)
            let fields = GroupJSON.fields(group, invocation.view) + states.json
            console.print(.object(JSONObject(fields)), invocation.format)
        case .id: console.print(group.id.description)
        case .csv:
            console.print(invocation.report([group]).csv, .csv, showsHeader: invocation.options.showsHeader)
        case .table, .wide:
            let states = try await MemberStates(of: group, client.broker)
            console.print(lines(group, states, invocation).map { SafeText.line($0) })
        }
        return .done
    }

    private func lines(_ group: GroupSummary, _ states: MemberStates, _ invocation: Invocation) -> [String] {
        let (detail, progress, style) = (group.detail, group.progress, invocation.console.output)
        func time(_ milliseconds: Int64) -> String {
            TimeText.format(milliseconds, invocation.settings.time.content, now: invocation.now)
        }
        let mark = detail.state.mark(ascii: style.usesASCII)
        let open = detail.state.isTerminal ? "" : progress.isOpen ? ", open" : ", closed"
        var lines = ["\(mark) group \(group.name(invocation.view)) \(detail.state.rawValue)\(open)"]
        lines.append("  id         \(group.id)")
        lines.append("  queue      \(group.queue)")
        if !detail.envelope.tags.isEmpty { lines.append("  tags       \(detail.envelope.tags.joined(separator: " "))") }
        let percent = progress.total == 0 ? "" : " \(QuantityText.percent(progress.fraction))"
        lines.append("  ended      \(group.bar(style))\(percent)" + Self.failed(progress))
        if states.read > 0 {
            let part = states.read < progress.total ? " (of \(QuantityText.grouped(states.read)) that were read)" : ""
            lines.append("  members    \(states.text)\(part)")
        }
        lines.append("  opened     \(time(detail.record.enqueuedAt))")
        if detail.record.endedAt > 0, detail.state.isTerminal {
            lines.append("  ended at   \(time(detail.record.endedAt))")
        }
        if let cancel = detail.cancel {
            let reason = cancel.reason.isEmpty ? "" : ": \(cancel.reason)"
            lines.append("  cancelled  \(time(cancel.requestedAt)) by \(cancel.by)\(reason)")
        }
        if progress.isOpen, !detail.state.isTerminal { lines.append("  lease      \(Self.lease(group.terms))") }
        return lines + failures(group, states, invocation.view)
    }

    private static func failed(_ progress: GroupProgress) -> String {
        progress.failed == 0 ? "" : ", \(QuantityText.grouped(progress.failed)) failed"
    }

    private static func lease(_ terms: GroupTerms) -> String {
        let time = DurationText.short(.milliseconds(terms.leaseMilliseconds))
        let participle = terms.ifAbandoned == .close ? "closed" : "cancelled"
        return "\(participle) if nothing is added for \(time)"
    }

    private func failures(_ group: GroupSummary, _ states: MemberStates, _ view: PayloadView) -> [String] {
        guard !states.failed.isEmpty else { return [] }
        var lines = ["not finished"]
        for member in states.failed {
            let place = member.queue == group.queue ? "" : "\(member.queue)/"
            let reason = member.isGroup ? "" : MemberStates.reason(member)
            lines.append(
                "  \(place)\(member.id) \(member.title(view)) \(member.state.rawValue)\(reason.isEmpty ? "" : ": \(reason)")"
            )
        }
        let more = group.progress.failed - states.failed.count
        if more > 0 { lines.append("  … and \(QuantityText.grouped(more)) more") }
        // The hint suggests a retry only for dead members: members cancelled with their group should not run again.
        guard let dead = states.failed.first(where: { $0.state == .dead }) else { return lines }
        let why = dead.isGroup ? "group show \(dead.queue)/\(dead.id)" : "errors group:\(group.id)"
        return lines + ["  try:  \(Program.name) \(why)", "        \(Program.name) retry \(group.id)"]
    }
}
