import ArgumentParser
import Operations
import Sluice
import SluiceOperator
import TerminalText

package struct GroupWaitVerb: GroupVerb {
    package static let formats: Set<OutputFormat> = .all
    package static let effect = VerbEffect.reads

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "wait",
            abstract: "Wait until a group has ended: it is closed, and all its members have ended.",
            discussion: """
                EXAMPLES
                  \(Program.name) group wait nightly-2026-01-31
                  \(Program.name) group wait 7QK2MX --timeout 1h && ./publish.sh

                stderr shows how many members have ended, the rate and the remaining time.
                Exit status: 0 all members have finished, 1 the group is dead: some have not, 2 it was cancelled or has expired, 4 the time is up.
                """
        )
    }

    @OptionGroup package var target: GroupTarget
    @Option(help: "Wait at most this long, for example 5m (no limit).", transform: DurationText.parse)
    var timeout: Duration?
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func perform(
        _ group: GroupSummary,
        _ client: SluiceClient,
        _ invocation: Invocation
    ) async throws -> ExitStatus {
        let location = Location(queue: group.queue, id: group.id)
        let ended = try await wait(for: location, client, invocation.console)
        let text = text(ended, invocation.view)
        let status = ExitStatus.ofEnds([ended.detail.state])
        if invocation.format.isJSON || status != .timedOut {
            invocation.print(ended, line: "\(ended.id) \(ended.detail.state.rawValue)")
        }
        guard status != .done else {
            invocation.console.note(text)
            return status
        }
        invocation.console.report(
            CLIError(status, text, fix: "\(Program.name) group show \(ended.id)"),
            asJSON: invocation.format.isJSON
        )
        return status
    }

    private func wait(for location: Location, _ client: SluiceClient, _ console: Console) async throws -> GroupSummary {
        let reporter = Task { await report(location, client, console) }
        defer {
            reporter.cancel()
            console.clearStatus()
        }
        let deadline = timeout.map { ContinuousClock.now + $0 }
        _ = try await client.broker.awaitEnd(of: [location.id], queue: location.queue, timeout: timeout)
        return try await outlastingOutages(until: deadline, onOutage: console.warnOfOutage) {
            try await Self.read(location, client)
        }
    }

    private static func read(_ location: Location, _ client: SluiceClient) async throws -> GroupSummary {
        try await GroupLookup(client: client).find([IDReference(queue: location.queue, .full(location.id))])[0]
    }

    private func report(_ location: Location, _ client: SluiceClient, _ console: Console) async {
        var rate = EndRate()
        await ProgressReport(console).show { time in
            guard let group = try? await Self.read(location, client) else { return nil }
            rate.add(ended: group.progress.ended, at: time)
            return Self.line(group.progress, rate, console.errors)
        }
    }

    private static func line(_ progress: GroupProgress, _ rate: EndRate, _ style: Style) -> String {
        let line = EndProgress(ended: progress.ended, total: progress.total, open: [], rate: rate).line(style)
        var parts = [line]
        if progress.failed > 0 { parts.append("\(QuantityText.grouped(progress.failed)) failed") }
        if progress.isOpen { parts.append("open") }
        return parts.joined(separator: style.usesASCII ? " - " : " · ")
    }

    /// `group nightly is dead: 18 of 20 members have finished`
    private func text(_ group: GroupSummary, _ view: PayloadView) -> String {
        let (state, progress) = (group.detail.state, group.progress)
        let verb =
            switch state {
            case .finished: "has finished"
            case .dead: "is dead"
            case .cancelled: "was cancelled"
            case .expired: "has expired"
            default:
                (progress.isOpen ? "is still open" : "has not ended")
                    + " after \(DurationText.precise(timeout ?? .zero))"
            }
        let members = "\(QuantityText.grouped(progress.finished)) of \(QuantityText.grouped(progress.total)) members"
        return "group \(group.name(view)) \(verb): \(members) have finished"
    }
}
