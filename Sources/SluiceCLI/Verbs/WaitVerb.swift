import ArgumentParser
import Operations
import Sluice
import SluiceMonitor
import SluiceOperator
import TerminalText

package struct WaitVerb: Verb {
    package static let formats: Set<OutputFormat> = .all
    package static let effect = VerbEffect.reads

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "wait",
            abstract: "Wait until operations have ended.",
            discussion: """
                EXAMPLES
                  \(Program.name) wait 7QK2MX
                  \(Program.name) wait --timeout 5m $(\(Program.name) enqueue sleep seconds:=3)
                  \(Program.name) wait -w tag:nightly --timeout 1h
                  \(Program.name) wait 7QK2MX --for started
                  \(Program.name) list -o id state:executing | \(Program.name) wait --any -

                With a query without state:, the wait includes operations that match later, until all that match have ended.
                On a terminal, stderr shows how many have ended, the rate and the remaining time. At the end stdout has a summary, and with \
                -v or in a pipe a line for each operation.
                Exit status: 0 all finished (--for started: all have started), 1 one is dead, 2 one was cancelled or expired, 4 the \
                time is up, 6 all examined operations finished, but --scan-limit was reached.
                """
        )
    }

    @OptionGroup package var selection: Selection
    @OptionGroup var scanLimit: ScanLimit
    @Option(
        name: .customLong("for"),
        help: "Wait until started, or terminal (finished is the same: the exit status shows how they ended)."
    )
    var goal = Goal.terminal
    @Option(help: "Wait at most this long, for example 5m (no limit).", transform: DurationText.parse)
    var timeout: Duration?
    @Flag(help: "Return when one of the operations has ended.")
    var any = false
    @OptionGroup package var global: GlobalOptions

    /// The event to wait for.
    package enum Goal: String, CaseIterable, ExpressibleByArgument {
        case started, terminal, finished
    }

    package init() {}

    package func check() throws {
        try selection.check()
        try scanLimit.check()
    }

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        let client = try await invocation.connect()
        let (locations, more) = try await targets(client, invocation)
        let status = locations.isEmpty ? .done : try await wait(for: locations, client, invocation)
        guard let more else { return status }
        invocation.console.note(more)
        return status == .done ? .partly : status
    }

    private func wait(
        for locations: [Location],
        _ client: SluiceClient,
        _ invocation: Invocation
    ) async throws -> ExitStatus {
        if goal == .started {
            let details = try await StartWaiter(client, console: invocation.console).wait(
                for: locations,
                timeout: timeout,
                any: any
            )
            return StartReport(details, any: any).print(invocation)
        }
        let waiter = EndWaiter(client, console: invocation.console)
        let start = ContinuousClock.now
        let deadline = timeout.map { start + $0 }
        var locations = locations
        var details = try await waiter.wait(for: locations, timeout: timeout, any: any).compactMap { $0 }
        // A search may miss an operation that moves meanwhile, and others may join during the wait.
        while try followsMatches, details.allSatisfy(\.state.isTerminal) {
            let known = Set(locations)
            let found = try await outlastingOutages(until: deadline, onOutage: invocation.console.warnOfOutage) {
                try await selection.find(client, invocation, scanLimit, isQuiet: true).locations
            }
            let new = found.filter { !known.contains($0) }
            if new.isEmpty { break }
            locations += new
            let left = deadline.map { max(.zero, $0 - .now) }
            details = try await waiter.wait(for: locations, timeout: left).compactMap { $0 }
        }
        return EndReport(details, any: any, timeout: timeout, time: .now - start, view: invocation.view)
            .print(invocation)
    }

    /// Whether the wait includes operations that match later. A query for a state selects those of one moment.
    private var followsMatches: Bool {
        get throws(CLIError) {
            guard selection.isQuery, !any else { return false }
            return try !selection.parsed().terms.contains { $0.field == .state }
        }
    }

    /// Finds the operations to wait for.
    ///
    /// - Returns: the operations, and a note if the scan limit was reached; nil = the result is complete.
    private func targets(
        _ client: SluiceClient,
        _ invocation: Invocation
    ) async throws -> (locations: [Location], more: String?) {
        // Only operations with a record can be awaited.
        if selection.isQuery { return try await selection.find(client, invocation, scanLimit) }
        let references = try selection.targets.references()
        guard !references.isEmpty else { throw CLIError.usage("nothing to wait for", fix: "\(Program.name) wait ID") }
        return (try await Locator(client).details(references).map { Location(queue: $0.queue, id: $0.id) }, nil)
    }
}

/// Prints the ends of the operations that were awaited.
package struct EndReport: Sendable {
    package let details: [OperationDetail]
    package let any: Bool
    package let timeout: Duration?
    /// The duration of the wait; nil = not measured.
    package let time: Duration?
    /// The keys with which names of groups are read.
    private let view: PayloadView

    package init(
        _ details: [OperationDetail],
        any: Bool = false,
        timeout: Duration? = nil,
        time: Duration? = nil,
        view: PayloadView = PayloadView()
    ) {
        self.time = time
        self.view = view
        self.details = details
        self.any = any
        self.timeout = timeout
    }

    package var status: ExitStatus {
        let states = details.map(\.state)
        let ended = states.filter(\.isTerminal)
        return any && !ended.isEmpty ? .ofEnds(ended) : .ofEnds(states)
    }

    package func print(_ invocation: Invocation) -> ExitStatus {
        let console = invocation.console
        let view = invocation.view
        let ended = details.filter { $0.state.isTerminal }
        switch invocation.format {
        case .json:
            console.print(
                [
                    "v": 1, "timedOut": .bool(status == .timedOut),
                    "operations": .array(details.map { OperationJSON.object($0, view) }),
                ],
                .json
            )
        case .jsonl: details.forEach { console.print(OperationJSON.object($0, view), .jsonl) }
        case .id: console.print(ended.map { $0.id.description })
        case .csv: console.print(OperationTable(ended, invocation).csv)
        case .table, .wide:
            if details.count == 1 || invocation.listsAll {
                console.print(ended.map { "\($0.id) \($0.state.rawValue)" })
            } else if status == .done {
                console.print(summary)
            }
        }
        if let error { console.report(error, asJSON: invocation.format.isJSON) }
        return status
    }

    /// The error, with a line for each of the first ten operations.
    package var error: CLIError? {
        guard status != .done else { return nil }
        let problems = details.filter { $0.state != .finished && (!any || $0.state.isTerminal) }
        let lines =
            problems.prefix(10).map(line) + (problems.count > 10 ? ["… and \(problems.count - 10) more"] : [])
        let first = problems.first.map { "\(Program.name) show \($0.id)" }
        guard details.count > 1 else { return CLIError(status, lines.first ?? "nothing ended in time", fix: first) }
        return CLIError(status, summary, notes: lines, fix: first)
    }

    /// `20 of 20 ended in 14m: 18 finished, 1 dead, 1 cancelled`
    private var summary: String {
        let ended = details.count { $0.state.isTerminal }
        let counts = Dictionary(grouping: details, by: \.state).mapValues(\.count)
        let order: [OperationState] = [
            .finished, .dead, .cancelled, .expired, .executing, .retrying, .ready, .scheduled, .blocked,
        ]
        let parts = order.compactMap { state in counts[state].map { "\(QuantityText.grouped($0)) \(state.rawValue)" } }
        let time = time.map { " in \(DurationText.precise($0))" } ?? ""
        let numbers = "\(QuantityText.grouped(ended)) of \(QuantityText.grouped(details.count))"
        return "\(numbers) ended\(time): " + parts.joined(separator: ", ")
    }

    private func line(_ detail: OperationDetail) -> String {
        let name = "\(detail.title(view)) \(detail.id)"
        switch detail.state {
        case .dead where detail.isGroup: return "\(name) is dead: \(detail.membersText)"
        case .dead:
            let runs = "after \(detail.record.attempt) attempt" + (detail.record.attempt == 1 ? "" : "s")
            return "\(name) is dead \(runs): \(detail.errors.last?.failure.sentence ?? "no error stored")"
        case .cancelled:
            let reason = detail.cancel.map { $0.reason.isEmpty ? "" : ": " + $0.reason } ?? ""
            return "\(name) was cancelled\(reason)"
        case .expired: return "\(name) expired before a worker could start it"
        default:
            let members = detail.isGroup ? ": \(detail.membersText)" : ""
            return "\(name) is still \(detail.state.rawValue)\(members)"
        }
    }
}
