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
                  \(Program.name) list -o id state:dead name:Send* | \(Program.name) retry -

                Errors and log stay; the attempts begin anew.
                """
        )
    }

    @OptionGroup package var targets: Targets
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        try await Change(invocation: invocation, verb: "retry", participle: "retried") { client, id, queue in
            try await client.broker.retry([id], queue: queue)[0]
        }.run(targets)
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
                  \(Program.name) list -o id state:cancelled | \(Program.name) rm -
                """
        )
    }

    @OptionGroup package var targets: Targets
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        try await Change(invocation: invocation, verb: "rm", participle: "removed") { client, id, queue in
            try await client.broker.remove([id], queue: queue)[0]
        }.run(targets)
    }
}

/// A change of operations named by id.
struct Change: Sendable {
    let invocation: Invocation
    let verb: String
    let participle: String
    let apply: @Sendable (SluiceClient, OperationID, String) async throws -> ChangeOutcome

    func run(_ targets: Targets) async throws -> ExitStatus {
        try invocation.requireWritable()
        let references = try targets.references()
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
        var row = TargetReport.Row(
            reference: reference.shown,
            location: location,
            text: participle,
            outcome: participle
        )
        switch try await apply(client, location.id, location.queue) {
        case .done: break
        case .refused(let state): (row.text, row.outcome, row.status) = ("is \(state.rawValue)", "refused", .refused)
        case .unknown: (row.text, row.outcome, row.status) = ("is unknown", "unknown", .notFound)
        }
        return row
    }
}
