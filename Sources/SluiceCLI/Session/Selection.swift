import SluiceOperator
import ArgumentParser
import Operations
import Selectors
import Sluice
import TerminalText

/// Operations that are named on the command line or found by a query.
package struct Selection: ParsableArguments {
    @OptionGroup package var targets: Targets
    @Option(
        name: [.customShort("w"), .customLong("where")],
        help: ArgumentHelp("Select by a query: 'state:dead name:Send* age:>1h' (list --help).", valueName: "query")
    )
    var query: [String] = []
    @Option(name: .shortAndLong, help: "Select by exactly this tag; may be repeated for any of several tags.")
    var tag: [String] = []
    package init() {}

    /// Whether `-w` or `-t` was given.
    package var isQuery: Bool { !query.isEmpty || !tag.isEmpty }

    /// Checks the options.
    ///
    /// - Throws: `.usage` for ids together with a query, or for an invalid query.
    package func check() throws(CLIError) {
        guard isQuery else { return }
        guard targets.ids.isEmpty else { throw .usage("ids exclude -w and -t", fix: "drop one of them") }
        _ = try parsed()
    }

    /// The query, with the tags as a term.
    func parsed() throws(CLIError) -> OperationQuery {
        try OperationQuery(typed: query, tags: tag)
    }

    /// The query of `-w` and `-t`, with names resolved in Redis.
    ///
    /// - Parameter states: the states to search if the query names no state.
    func query(in states: [OperationState], _ client: SluiceClient) async throws -> OperationQuery {
        var query = try parsed()
        if !query.terms.contains(where: { $0.field == .state }) {
            query.terms.append(.states(states))
        }
        try await query.resolve(client)
        return query
    }
}

/// The search limit of a command that only reads. Commands that change operations cover all operations that exist when
/// they begin.
package struct ScanLimit: ParsableArguments {
    @Option(
        name: .customLong("scan-limit"),
        help: ArgumentHelp("Examine at most n operations (100,000; list in a pipe: all).", valueName: "count")
    )
    var count: Int?

    /// The limit without `--scan-limit`.
    static let builtIn = 100_000

    package init() {}

    func check() throws(CLIError) {
        guard let count, count < 1 else { return }
        throw .usage("--scan-limit is \(count); expected at least 1", fix: "--scan-limit 100000")
    }
}

extension Selection {
    /// Finds operations with a record, for a command that only reads.
    ///
    /// - Parameter isQuiet: whether to say nothing about what was found.
    /// - Returns: the locations, and a note if the scan limit was reached; nil = the result is complete.
    func find(
        _ client: SluiceClient,
        _ invocation: Invocation,
        _ limit: ScanLimit,
        isQuiet: Bool = false
    ) async throws -> (locations: [Location], more: String?) {
        let walk = ListWalk(
            client.broker,
            try await query(in: OperationState.allCases, client),
            view: invocation.view,
            limit: .max,
            scanLimit: limit.count ?? ScanLimit.builtIn
        )
        var found: [Location] = []
        let result = try await walk.run(from: nil) { operations in
            let tracked = operations.filter(\.record.header.tracked)
            found += tracked.map { Location(queue: $0.queue, id: $0.id) }
        }
        if isQuiet { return (found, nil) }
        result.unknownQueues.forEach(invocation.console.warn)
        let coverage = result.coverage.map { "; " + $0 } ?? ""
        invocation.console.note("\(QuantityText.grouped(found.count)) match\(coverage)")
        guard result.isCutShort else { return (found, nil) }
        let scanned = QuantityText.grouped(result.scanned)
        return (found, "\(scanned) operations were examined, and there are more: raise --scan-limit")
    }
}

extension OperationQuery {
    /// Reads the words of a query, with the tags of `-t` as a term.
    init(typed words: [String], tags: [String] = []) throws(CLIError) {
        do { try self.init(parsing: words) } catch { throw .usage(error.message, fix: error.fix) }
        if !tags.isEmpty { terms.append(.tags(tags)) }
    }
}
