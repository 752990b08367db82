import ArgumentParser
import Operations
import Sluice

package struct RetryVerb: Verb {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "retry",
            abstract: "Run dead, cancelled or expired operations again, retrying and scheduled ones now.",
            discussion: """
                EXAMPLES
                  \(Program.name) retry 7QK2MX
                  \(Program.name) retry -w 'state:dead name:Send*'
                  \(Program.name) list -o id --limit 200 state:dead tag:test | \(Program.name) retry -

                Errors and log stay; the attempts of what had ended begin anew. A query without a state leaves out what is scheduled:
                somebody has chosen its time.
                """
        )
    }

    @OptionGroup package var selection: Selection
    @Flag(name: [.short, .long], help: "Do not ask.")
    var yes = false
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func check() throws { try selection.check() }

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        // Without a state in the query, what is scheduled keeps its time: somebody has chosen that.
        let states: [OperationState] = [.dead, .cancelled, .expired, .retrying]
        return try await Change(invocation: invocation, verb: "retry", participle: "retried", states: states) {
            client,
            ids,
            queue in
            try await client.broker.retry(ids, queue: queue)
        }.run(selection, isConfirmed: yes)
    }
}

package struct RemoveVerb: Verb {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "rm",
            abstract: "Remove operations that do not run, with result, errors and log.",
            discussion: """
                EXAMPLES
                  \(Program.name) rm 7QK2MX
                  \(Program.name) rm -w state:cancelled -y
                  \(Program.name) list -o id --limit 200 state:cancelled tag:test | \(Program.name) rm -
                """
        )
    }

    @OptionGroup package var selection: Selection
    @Flag(name: [.short, .long], help: "Do not ask.")
    var yes = false
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func check() throws { try selection.check() }

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        let states = OperationState.allCases.filter { $0 != .executing }
        return try await Change(invocation: invocation, verb: "rm", participle: "removed", states: states) {
            client,
            ids,
            queue in
            try await client.broker.remove(ids, queue: queue)
        }.run(selection, isConfirmed: yes)
    }
}

/// A change of operations named by id.
struct Change: Sendable {
    let invocation: Invocation
    let verb: String
    let participle: String
    /// The states in which a query looks where it names none.
    let states: [OperationState]
    let apply: @Sendable (SluiceClient, [OperationID], String) async throws -> [ChangeOutcome]

    func run(_ selection: Selection, isConfirmed: Bool) async throws -> ExitStatus {
        try invocation.requireWritable()
        if selection.isQuery { return try await runAll(selection, isConfirmed: isConfirmed) }
        let references = try selection.targets.references()
        guard !references.isEmpty else {
            throw CLIError.usage("no ids; nothing was \(participle)", fix: "\(Program.name) \(verb) ID")
        }
        let client = try await invocation.connect()
        let findings = try await Locator(client).find(references)
        var rows: [TargetReport.Row] = []
        for (reference, finding) in zip(references, findings) {
            rows.append(try await row(reference, finding, client))
        }
        return TargetReport(rows, participle: participle, namespace: client.namespace).print(invocation)
    }

    private func row(
        _ reference: IDReference,
        _ finding: Locator.Finding,
        _ client: SluiceClient
    ) async throws -> TargetReport.Row {
        guard case .found(let location) = finding else { return TargetReport.Row(finding, of: reference)! }
        return row(reference.shown, location, try await apply(client, [location.id], location.queue)[0])
    }

    private func runAll(_ selection: Selection, isConfirmed: Bool) async throws -> ExitStatus {
        let client = try await invocation.connect()
        // What has no record is still in a lane and cannot be addressed: it has not even begun.
        let found = try await selection.find(in: states, client, invocation.console).filter(\.record.header.tracked)
        guard !found.isEmpty else { return .done }
        try invocation.confirm("\(verb) \(found.count) operations?", count: found.count, isConfirmed: isConfirmed)
        var rows: [TargetReport.Row] = []
        for (queue, ids) in found.byQueue() {
            for (id, outcome) in zip(ids, try await apply(client, ids, queue)) {
                rows.append(row(id.description, Location(queue: queue, id: id), outcome))
            }
        }
        return TargetReport(rows, participle: participle, namespace: client.namespace).print(invocation)
    }

    private func row(_ reference: String, _ location: Location, _ outcome: ChangeOutcome) -> TargetReport.Row {
        var row = TargetReport.Row(
            reference: reference,
            location: location,
            text: participle,
            outcome: participle
        )
        switch outcome {
        case .done: break
        case .refused(let state): (row.text, row.outcome, row.status) = ("is \(state.rawValue)", "refused", .refused)
        case .unknown: (row.text, row.outcome, row.status) = ("is unknown", "unknown", .notFound)
        }
        return row
    }
}
