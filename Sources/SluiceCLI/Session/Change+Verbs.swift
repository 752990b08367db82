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

    /// Stored with the operations.
    var reason: String { get }
    /// The time over which the changed operations start evenly; nil = now.
    var spread: Duration? { get }
}

extension ChangeVerb {
    package static var formats: Set<OutputFormat> { .all }
    package static var effect: VerbEffect { .changes }

    package var reason: String { "" }
    package var spread: Duration? { nil }

    package func check() throws { try selection.check() }

    package func expanded(_ references: [IDReference], _ client: SluiceClient) async throws -> [IDReference] {
        references
    }

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        try invocation.beginChange(asking: nil)
        let kind = Self.kind
        let references = try selection.targets.references()
        guard selection.isQuery || !references.isEmpty else {
            throw CLIError.usage("no ids; nothing was \(kind.participle)", fix: "\(Program.name) \(kind.verb) ID")
        }
        let client = try await invocation.connect()
        let request = CancelRequest(reason: reason, by: SluiceClient.identity)
        let step = OperationChange(client.broker, kind, request) { [invocation] in invocation.now }
        var change = Change(
            invocation: invocation,
            client: client,
            verb: kind.verb,
            participle: kind.participle,
            allowed: Set(kind.allowed),
            needsRecord: true
        ) { try await step.apply($0, spread: $2, queue: $1) }
        change.spread = spread
        if selection.isQuery { return try await change.run(selection, in: kind.searched, consent) }
        let all = try await expanded(references, client)
        change.keepsOrder = all != references
        return try await change.run(all, consent)
    }
}
