import ArgumentParser
import Operations
import Sluice
import TerminalText

/// Operations that are named on the command line or found by a query.
package struct Selection: ParsableArguments {
    @OptionGroup package var targets: Targets
    @Option(
        name: [.customShort("w"), .customLong("where")],
        help: ArgumentHelp("Select by a query: 'state:dead name:Send* tag:v1*'.", valueName: "query")
    )
    var query: [String] = []
    @Option(name: .shortAndLong, help: "Select by exactly this tag; may be repeated for any of several tags.")
    var tag: [String] = []
    @Option(
        help: ArgumentHelp(
            "Examine at most n operations for -w and -t (all; wait: 100,000).",
            valueName: "count"
        )
    )
    var scanLimit: Int?

    /// The default of `--scan-limit` for commands that only read.
    static let readingLimit = 100_000

    package init() {}

    /// Whether -w or -t was given.
    package var isQuery: Bool { !query.isEmpty || !tag.isEmpty }

    /// Throws for options that exclude each other.
    package func check() throws(CLIError) {
        guard scanLimit ?? 1 > 0 else { throw .usage("--scan-limit is at least 1", fix: "--scan-limit 100000") }
        guard isQuery else { return }
        guard targets.ids.isEmpty else { throw .usage("ids exclude -w and -t", fix: "drop one of them") }
        _ = try parsed()
    }

    /// The query, with the tags as a term.
    func parsed() throws(CLIError) -> OperationQuery {
        var parsed = try OperationQuery(parsing: query)
        if !tag.isEmpty { parsed.terms.append(.tags(tag)) }
        return parsed
    }

    /// The query of -w and -t, with ids in place of names of workers.
    ///
    /// - Parameter states: the states to search if the query names none.
    func query(in states: [OperationState], _ client: SluiceClient) async throws -> OperationQuery {
        var query = try parsed()
        if !query.terms.contains(where: { $0.field == .state }) {
            query.terms.append(OperationQuery.Term(field: .state, values: states.map(\.rawValue), isNegated: false))
        }
        try await query.resolveWorkers(client)
        return query
    }

    /// Finds operations with a record, for a command that only reads.
    ///
    /// - Returns: the locations, and a note if the scan limit was reached; nil = these are all.
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
        return (found, "\(scanned) operations were examined, and there are more: raise --scan-limit")
    }
}
