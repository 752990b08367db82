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
    private let facts: [OperationFact]

    init(_ detail: OperationDetail, _ invocation: Invocation, note: String? = nil, groups: [OperationDetail] = []) {
        (self.detail, self.invocation) = (detail, invocation)
        facts = OperationFacts(detail, invocation.view, note: note, groups: groups).all
    }

    var lines: [String] {
        let style = invocation.console.output
        let title = SafeText.line(detail.title(invocation.view))
        let head = "\(detail.id)  \(title)  \(style.mark(detail.state)) \(style.word(detail.state))"
        return [head]
            + facts.map { fact in
                "  " + fact.name.padded(toWidth: 11) + SafeText.line(fact.parts.map(text).joined())
            }
    }

    private func text(_ part: OperationFact.Part) -> String {
        switch part {
        case .text(let text): text
        case .time(let milliseconds): time(milliseconds)
        case .operation(let id): id.description
        case .value(let value, field: _): value
        case .worker(let worker): worker
        }
    }

    /// Formats a time in the given style. A relative time follows the exact one, because a line has room for both.
    private func time(_ milliseconds: Int64) -> String {
        let style = invocation.settings.time.content
        let text = TimeText.format(milliseconds, style, now: invocation.now)
        return style == .relative ? "\(TimeText.rfc3339(milliseconds)) (\(text))" : text
    }
}
