import ArgumentParser
import Operations
import Sluice
import TerminalText

/// Operations named on the command line, or found by a query.
package struct Selection: ParsableArguments {
    @OptionGroup package var targets: Targets
    @Option(
        name: [.customShort("w"), .customLong("where")],
        help: ArgumentHelp("All that a query finds: 'state:dead name:Send* tag:v1*'.", valueName: "query")
    )
    var query: [String] = []
    @Option(name: .shortAndLong, help: "All with exactly this tag; may be repeated, then with any of them.")
    var tag: [String] = []
    @Option(
        help: ArgumentHelp(
            "Most operations that -w and -t look at: all unless given (wait: 100,000).",
            valueName: "count"
        )
    )
    var scanLimit: Int?

    /// Most operations that a command looks at which only reads, unless it was told otherwise.
    static let readingLimit = 100_000

    package init() {}

    /// True if -w or -t was given.
    package var isQuery: Bool { !query.isEmpty || !tag.isEmpty }

    /// Refuses what makes no sense together.
    package func check() throws(CLIError) {
        guard scanLimit ?? 1 > 0 else { throw .usage("a limit is at least 1", fix: "--scan-limit 100000") }
        guard isQuery else { return }
        guard targets.ids.isEmpty else { throw .usage("ids exclude -w and -t", fix: "drop one of them") }
        _ = try parsed()
    }

    /// The query, with the tags as one more term.
    func parsed() throws(CLIError) -> OperationQuery {
        var parsed = try OperationQuery(parsing: query)
        if !tag.isEmpty { parsed.terms.append(.tags(tag)) }
        return parsed
    }

    /// What -w and -t ask for, with the ids of the workers that are named.
    ///
    /// - Parameter states: those that count where the query names none.
    func query(in states: [OperationState], _ client: SluiceClient) async throws -> OperationQuery {
        var query = try parsed()
        if !query.terms.contains(where: { $0.field == .state }) {
            query.terms.append(OperationQuery.Term(field: .state, values: states.map(\.rawValue), isNegated: false))
        }
        try await query.resolveWorkers(client)
        return query
    }

    /// Looks for what has a record, for a command that only reads.
    ///
    /// - Returns: where they are, and the line that says that there are more; nil = these are all.
    func find(_ client: SluiceClient, _ console: Console) async throws -> (locations: [Location], more: String?) {
        let query = try await query(in: OperationState.allCases, client)
        let walk = ListWalk(client: client, query: query, limit: .max, scanLimit: scanLimit ?? Self.readingLimit)
        var found: [Location] = []
        let result = try await walk.run(from: nil) { operations in
            let tracked = operations.filter(\.record.header.tracked)
            found += tracked.map { Location(queue: $0.queue, id: $0.id) }
        }
        console.note("\(QuantityText.grouped(found.count)) match")
        guard result.isCutShort else { return (found, nil) }
        let scanned = QuantityText.grouped(result.scanned)
        return (found, "\(scanned) operations were looked at, and there are more: take them in with --scan-limit")
    }
}
