import ArgumentParser
import Operations
import Sluice
import SluiceMonitor
import SluiceOperator
import TerminalText

/// `top names | queues`
package struct TopGroup: ParsableCommand {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "top",
            abstract: "Rank operation names or queues by count, errors and times.",
            discussion: """
                EXAMPLES
                  \(Program.name) top names --since 7d --sort total          what takes the time
                  \(Program.name) top names --since 1h --compare 24h         what got slower since yesterday
                  \(Program.name) top queues --sort errors                   which queues fail most
                """,
            subcommands: [TopNamesVerb.self, TopQueuesVerb.self]
        )
    }

    package init() {}
}

package struct TopNamesVerb: Verb {
    package static let formats: Set<OutputFormat> = .all
    package static let effect = VerbEffect.reads

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "names",
            abstract: "Rank operation names by count, errors, wait and run time.",
            discussion: """
                EXAMPLES
                  \(Program.name) top names
                  \(Program.name) top names --since 7d --sort total
                  \(Program.name) top names --since 1h --compare 24h
                  \(Program.name) top names --build 2026.11.3
                  \(Program.name) top names -q mail --sort errors -o json

                COUNT is the number of attempts that ended, ERR the part of them that failed, TOTAL the sum of their \
                run times. Hours are stored for 48 h and days for 30 d, for 75 names per queue; the others are "(other \
                names)". The time begins with a whole hour, or with a whole day if it is longer than 48 h.
                --compare 24h shows the same span 24 h earlier as well. CHANGE is the mean run time divided by the \
                earlier one. --build compares the time since a worker of a build first registered with as long before; \
                the hour or day of that counts for neither. Names with at least 5 runs in both spans come first, the most slowed down at the top.
                Percentiles are within a factor of 1.42. Workers send statistics with their heartbeats, every 5 s.
                """
        )
    }

    @Option(help: "Rank what happened since this long ago (1h).", transform: DurationText.parse)
    var since: Duration?
    @Option(help: "Compare with the same time this long before.", transform: DurationText.parse)
    var compare: Duration?
    @Option(
        help: ArgumentHelp("Compare the time since this build was first seen with the time before.", valueName: "text")
    )
    var build: String?
    @Option(name: .shortAndLong, help: "Read only this queue; may be repeated.")
    var queue: [String] = []
    @Option(
        help:
            "Sort by this, the largest first: count, errors, wait, run, total, change (count; when compared: change)."
    )
    var sort: StatisticsOrder?
    @Option(help: "Show at most n names (20).")
    var limit = 20
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func check() throws {
        guard limit > 0 else {
            throw CLIError.usage("--limit is \(limit); expected at least 1", fix: "--limit 20")
        }
        guard build == nil || (since == nil && compare == nil) else {
            throw CLIError.usage(
                "--build has times of its own; leave out --since and --compare",
                fix: "--build 2026.11.3"
            )
        }
        guard sort != .change || compare != nil || build != nil else {
            throw CLIError.usage("--sort change needs --compare", fix: "--sort change --compare 24h")
        }
        _ = try span
    }

    /// The span of `--since` and `--compare`.
    private var span: StatisticsSpan {
        get throws {
            let since = since ?? .seconds(3600)
            guard let compare else { return try StatisticsSpan(since: since, from: .hour) }
            return try StatisticsSpan(since: since, comparedWith: compare)
        }
    }

    /// The span of `--build`.
    private func span(of build: String, _ reader: StatisticsReader, now: Int64) async throws -> StatisticsSpan {
        let build = try await reader.builds().named(build)
        guard let span = StatisticsSpan(around: build.firstSeenAt, now: now) else {
            throw LookupFailure(
                .notFound,
                "no statistics from before the build \(OperationsError.quoted(build.build)) are stored",
                fix: .command("top names --since 30d")
            )
        }
        return span
    }

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        let client =
            build == nil ? try await invocation.connect() : try await invocation.connectReadingClock()
        let reader = try await StatisticsReader(client.broker, queue)
        let span = if let build { try await span(of: build, reader, now: invocation.now) } else { try span }
        let names = try await reader.names(span)
        let order = sort ?? (span.before == nil ? .count : .change)
        let report = NameReport(
            rows: NameStatisticsRow.sorted(names.rows, by: order),
            limit: limit,
            span: span,
            time: names.time ?? invocation.now,
            namespace: client.namespace,
            absent: reader.absent
        )
        report.print(invocation)
        return .done
    }
}

/// Prints statistics by name: `docs/schema/names-statistics.json`.
private struct NameReport {
    let rows: [NameStatisticsRow]
    let limit: Int
    let span: StatisticsSpan
    let time: Int64
    let namespace: String
    let absent: [AbsentNode]

    func print(_ invocation: Invocation) {
        let console = invocation.console
        let shown = Array(rows.prefix(limit))
        let report = NameStatisticsRow.report(shown, isCompared: span.before != nil)
        invocation.print(report, names: shown.compactMap(\.name)) {
            NameStatisticsRow.json($0, of: rows.count, span, at: time, namespace: namespace, absent: absent)
        }
        console.note(note(shown.count))
        console.warn(absent)
    }

    private func note(_ shown: Int) -> String {
        var parts = [StatisticsText.span(span.query.times(at: time))]
        if rows.isEmpty { parts = ["nothing ran \(parts[0])"] }
        if let before = span.before {
            parts.append("compared with what ran " + StatisticsText.span(before.times(at: time)))
        }
        if shown < rows.count { parts.append("\(shown) of \(QuantityText.grouped(rows.count)) names: --limit") }
        return parts.joined(separator: "; ")
    }
}

package struct TopQueuesVerb: Verb {
    package static let formats: Set<OutputFormat> = .all
    package static let effect = VerbEffect.reads

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "queues",
            abstract: "Rank queues by count, errors, wait and run time.",
            discussion: """
                EXAMPLES
                  \(Program.name) top queues
                  \(Program.name) top queues --since 15m --sort wait
                  \(Program.name) top queues --since 7d --sort errors --limit 5 -o json

                The columns are those of \(Program.name) stats --since.
                """
        )
    }

    @Option(help: "Rank what happened since this long ago (1h).", transform: DurationText.parse)
    var since: Duration = .seconds(3600)
    @Option(help: "Sort by this, the largest first: count, errors, wait, run, total (count).")
    var sort = StatisticsOrder.count
    @Option(help: "Show at most n queues (20).")
    var limit = 20
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func check() throws {
        guard limit > 0 else {
            throw CLIError.usage("--limit is \(limit); expected at least 1", fix: "--limit 20")
        }
        guard sort != .change else { throw CLIError.usage("--sort change is for top names", fix: "--sort run") }
        _ = try StatisticsSpan(since: since, from: .minute)
    }

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        let query = try StatisticsSpan(since: since, from: .minute).query
        let client = try await invocation.connect()
        let reader = try await StatisticsReader(client.broker, [])
        let rows = try await QueueStatisticsRow.read(reader, query).sorted { left, right in
            let (first, second) = (sort.value(of: left.statistics), sort.value(of: right.statistics))
            return first == second ? left.queue < right.queue : first > second
        }
        let report = QueueStatisticsReport(
            rows: Array(rows.prefix(limit)),
            query: query,
            namespace: client.namespace,
            absent: reader.absent
        )
        report.print(invocation)
        return .done
    }
}
