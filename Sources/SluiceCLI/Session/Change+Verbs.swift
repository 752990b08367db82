import Operations
import Sluice
import SluiceMonitor
import SluiceOperator

/// A verb that applies the same change to each operation.
package protocol ChangeVerb: Verb {
    static var kind: ChangeKind { get }
    var selection: Selection { get }
    var consent: Consent { get }

    /// Adds related operations to the named ones, in the order in which they must be changed.
    func expanded(_ references: [IDReference], _ client: SluiceClient) async throws -> [IDReference]

    /// Changes up to 500 operations of a queue, and returns the outcome of each.
    func change(_ ids: [OperationID], _ queue: String, _ client: SluiceClient) async throws -> [ChangeResult]
}

extension ChangeVerb {
    package static var formats: Set<OutputFormat> { .all }
    package static var effect: VerbEffect { .changes }

    package func check() throws { try selection.check() }

    package func expanded(_ references: [IDReference], _ client: SluiceClient) async throws -> [IDReference] {
        references
    }

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        try await Change.run(invocation, Self.kind, selection, consent) {
            try await expanded($0, $1)
        } apply: {
            try await change($1, $2, $0)
        }
    }
}

extension Change {
    fileprivate static func run(
        _ invocation: Invocation,
        _ kind: ChangeKind,
        _ selection: Selection,
        _ consent: Consent,
        expand: ([IDReference], SluiceClient) async throws -> [IDReference],
        apply: @escaping @Sendable (SluiceClient, [OperationID], String) async throws -> [ChangeResult]
    ) async throws -> ExitStatus {
        try invocation.beginChange(asking: nil)
        let references = try selection.targets.references()
        guard selection.isQuery || !references.isEmpty else {
            throw CLIError.usage("no ids; nothing was \(kind.participle)", fix: "\(Program.name) \(kind.verb) ID")
        }
        let client = try await invocation.connect()
        var change = Change(
            invocation: invocation,
            client: client,
            verb: kind.verb,
            participle: kind.participle,
            allowed: Set(kind.allowed),
            needsRecord: true
        ) { ids, queue in
            let outcomes = try await apply(client, ids, queue)
            let refusals = try await refusals(of: kind.verb, zip(ids, outcomes), queue, client)
            return zip(ids, outcomes).map { id, outcome in
                var row = row(Location(queue: queue, id: id), outcome, kind)
                if let refusal = refusals[id] { row.text = refusal }
                return row
            }
        }
        if selection.isQuery { return try await change.run(selection, in: kind.searched, consent) }
        let all = try await expand(references, client)
        change.keepsOrder = all != references
        return try await change.run(all, consent)
    }

    /// The messages for refused operations that are groups, or callbacks of groups.
    private static func refusals(
        of verb: String,
        _ changes: some Sequence<(OperationID, ChangeResult)>,
        _ queue: String,
        _ client: SluiceClient
    ) async throws -> [OperationID: String] {
        let refused = changes.compactMap { id, result in if case .refused = result { id } else { nil } }
        guard !refused.isEmpty else { return [:] }
        let details = try await client.broker.allDetails(refused, queue: queue)
        return details.compactMap { $0 }.reduce(into: [:]) { texts, detail in
            if detail.links.group != nil {
                texts[detail.id] = GroupSummary.refusal(of: verb, detail.id)
            } else if let need = detail.links.callbackNeed {
                texts[detail.id] = GroupSummary.refusal(ofCallback: detail, need)
            }
        }
    }

    private static func row(
        _ location: Location,
        _ outcome: ChangeResult,
        _ kind: ChangeKind
    ) -> TargetReport.Row {
        let id = location.id.description
        let refusedState: OperationState? = if case .refused(let state) = outcome { state } else { nil }
        let (status, text, name): (ExitStatus, String, String) =
            switch outcome {
            case .done: (.done, kind.participle, kind.participle)
            case .refused(let state): (.refused, "is \(state.rawValue)\(hint(kind, state, id))", "refused")
            case .keyTaken(let other): (.refused, "has a unique key that \(other) has now", "refused")
            case .unknown: (.notFound, "is unknown", "unknown")
            }
        return TargetReport.Row(
            reference: id,
            location: location,
            status: status,
            text: text,
            outcome: name,
            kind: refusedState.map { "refused: \($0.rawValue)" }
        )
    }

    /// The command to use instead of the verb in this state.
    private static func hint(_ kind: ChangeKind, _ state: OperationState, _ id: String) -> String {
        switch (kind, state) {
        case (.retry, .finished): "; run it again: \(Program.name) rerun \(id)"
        case (.retry, .blocked): "; release it: \(Program.name) release \(id)"
        default: ""
        }
    }
}
