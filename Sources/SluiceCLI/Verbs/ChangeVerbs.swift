import ArgumentParser
import Operations
import Sluice

package struct RetryVerb: Verb {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "retry",
            abstract: "Run dead, cancelled or expired operations again, and retrying or scheduled ones now.",
            discussion: """
                EXAMPLES
                  \(Program.name) retry 7QK2MX
                  \(Program.name) retry -w 'state:dead name:Send*'
                  \(Program.name) retry -w 'error:"timed out"' --dry-run
                  \(Program.name) list -o id --limit 200 state:dead tag:test | \(Program.name) retry -

                Errors and log stay. The attempts of an ended operation begin at 1. A query without a state leaves out scheduled \
                operations, whose time a producer has chosen.
                """
        )
    }

    @OptionGroup package var selection: Selection
    @OptionGroup var consent: Consent
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func check() throws { try selection.check() }

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        // Without a state in the query, scheduled operations keep their time, which a producer has chosen.
        let states: [OperationState] = [.dead, .cancelled, .expired, .retrying]
        let allowed = states + [.scheduled]
        return try await Change.run(invocation, "retry", "retried", selection, in: states, of: allowed, consent) {
            client,
            ids,
            queue in
            try await client.retry(ids, queue: queue)
        }
    }
}

package struct RemoveVerb: Verb {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "rm",
            abstract: "Remove operations that are not running, with result, errors and log.",
            discussion: """
                EXAMPLES
                  \(Program.name) rm 7QK2MX
                  \(Program.name) rm -w state:cancelled -y
                  \(Program.name) rm -w 'state:finished age:>2h' --dry-run
                  \(Program.name) list -o id --limit 200 state:cancelled tag:test | \(Program.name) rm -
                """
        )
    }

    @OptionGroup package var selection: Selection
    @OptionGroup var consent: Consent
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func check() throws { try selection.check() }

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        let states = OperationState.allCases.filter { $0 != .executing }
        return try await Change.run(invocation, "rm", "removed", selection, in: states, of: states, consent) {
            client,
            ids,
            queue in
            try await client.remove(ids, queue: queue)
        }
    }
}

extension Change {
    /// Runs `rm` or `retry`.
    ///
    /// - Parameters:
    ///   - states: the states to search if the query names none.
    ///   - allowed: the states in which the change is possible.
    fileprivate static func run(
        _ invocation: Invocation,
        _ verb: String,
        _ participle: String,
        _ selection: Selection,
        in states: [OperationState],
        of allowed: [OperationState],
        _ consent: Consent,
        _ apply: @escaping @Sendable (SluiceClient, [OperationID], String) async throws -> [ChangeResult]
    ) async throws -> ExitStatus {
        try invocation.requireWritable()
        let references = try selection.targets.references()
        guard selection.isQuery || !references.isEmpty else {
            throw CLIError.usage("no ids; nothing was \(participle)", fix: "\(Program.name) \(verb) ID")
        }
        let client = try await invocation.connect()
        let change = Change(
            invocation: invocation,
            client: client,
            verb: verb,
            participle: participle,
            allowed: Set(allowed),
            needsRecord: true
        ) { ids, queue in
            zip(ids, try await apply(client, ids, queue)).map { id, outcome in
                row(Location(queue: queue, id: id), outcome, participle)
            }
        }
        guard selection.isQuery else { return try await change.run(references, consent) }
        return try await change.run(selection, in: states, consent)
    }

    private static func row(
        _ location: Location,
        _ outcome: ChangeResult,
        _ participle: String
    ) -> TargetReport.Row {
        let id = location.id.description
        let (status, text, name): (ExitStatus, String, String) =
            switch outcome {
            case .done: (.done, participle, participle)
            case .refused(let state): (.refused, "is \(state.rawValue)", "refused")
            case .unknown: (.notFound, "is unknown", "unknown")
            }
        return TargetReport.Row(
            reference: id,
            location: location,
            status: status,
            text: text,
            outcome: name,
            kind: status == .refused ? "refused: \(text.dropFirst("is ".count))" : nil
        )
    }
}
