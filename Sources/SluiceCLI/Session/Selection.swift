import ArgumentParser
import Operations
import Sluice
import SluiceMonitor

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
    @Option(help: ArgumentHelp("Most operations that -w and -t look at.", valueName: "count"))
    var scanLimit = 100_000

    package init() {}

    /// True if -w or -t was given.
    package var isQuery: Bool { !query.isEmpty || !tag.isEmpty }

    /// Refuses what makes no sense together.
    package func check() throws(CLIError) {
        guard scanLimit > 0 else { throw .usage("a limit is at least 1", fix: "--scan-limit 100000") }
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

    /// Looks for what -w and -t ask for.
    ///
    /// - Parameter states: those that count where the query names none.
    package func find(
        in states: [OperationState],
        _ client: SluiceClient,
        _ console: Console
    ) async throws -> [OperationDetail] {
        var query = try parsed()
        if !query.terms.contains(where: { $0.field == .state }) {
            query.terms.append(OperationQuery.Term(field: .state, values: states.map(\.rawValue), isNegated: false))
        }
        try await query.resolveWorkers(client)
        let walk = ListWalk(client: client, query: query, limit: .max, scanLimit: scanLimit)
        let found = try await walk.run(from: nil)
        if found.next != nil {
            let scanned = QuantityText.grouped(found.scanned)
            console.note("\(scanned) looked at, there are more; take more with --scan-limit")
        }
        console.note("\(QuantityText.grouped(found.operations.count)) match")
        return found.operations
    }
}

extension [OperationDetail] {
    /// The operations by queue.
    func byQueue() -> [(queue: String, ids: [OperationID])] {
        Dictionary(grouping: self, by: \.queue).map { ($0.key, $0.value.map(\.id)) }.sorted { $0.queue < $1.queue }
    }
}
