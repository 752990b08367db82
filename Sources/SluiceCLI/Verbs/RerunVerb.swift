import ArgumentParser
import Operations
import Sluice
import SluiceOperator

package struct RerunVerb: Verb {
    package static let formats: Set<OutputFormat> = .all
    package static let effect = VerbEffect.changes

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "rerun",
            abstract: "Enqueue operations again as new ones, with the same or changed arguments.",
            discussion: """
                EXAMPLES
                  \(Program.name) rerun 7QK2MX
                  \(Program.name) rerun 7QK2MX to=ann@example.com retries:=3
                  \(Program.name) rerun 7QK2MX -e
                  \(Program.name) rerun -w 'state:dead name:Resize' -q images-slow

                Each new operation has its own id and names the old one (rerunOf), which does not change. Name, \
                arguments, tags, headers, priority, attempts and time limit are copied. k=v replaces one argument with \
                a text, k:=json with any JSON; -e opens all arguments in $VISUAL or $EDITOR. -q enqueues into another \
                queue. Signed or encrypted operations are verified and sealed again, which needs the keys. If you \
                repeat an interrupted rerun of a query, it enqueues the first operations again.
                """
        )
    }

    @OptionGroup package var selection: Selection
    @Flag(name: .shortAndLong, help: "Edit the arguments before they are enqueued; one operation.") var edit = false
    @Option(name: .shortAndLong, help: "Enqueue into this queue instead of its own.") var queue: String?
    @OptionGroup var spreading: SpreadOption
    @OptionGroup var consent: Consent
    @OptionGroup package var global: GlobalOptions

    package init() {}

    /// The named operations. Words with "=" are arguments.
    private var named: Selection {
        var named = selection
        named.targets.ids = selection.targets.ids.filter { !$0.contains("=") }
        return named
    }

    private var words: [String] { selection.targets.ids.filter { $0.contains("=") } }

    package func check() throws {
        try named.check()
        if let queue { try NameRule.check(queue, role: "queue") }
        try spreading.check()
        guard edit, selection.isQuery || named.targets.ids.count != 1 else { return }
        throw CLIError.usage("-e edits one operation", fix: "\(Program.name) rerun ID -e")
    }

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        try invocation.beginChange(asking: nil)
        let selection = named
        let references = try selection.targets.references()
        guard selection.isQuery || !references.isEmpty else {
            throw CLIError.usage("no ids; nothing was enqueued", fix: "\(Program.name) rerun ID")
        }
        let client = try await invocation.connect()
        let changes = try KeyValueArguments.object(from: words)
        let rerun = Rerun(client: client, queue: queue, changes: changes, edits: edit, invocation: invocation)
        var change = Change(
            invocation: invocation,
            client: client,
            verb: "rerun",
            participle: "enqueued again",
            allowed: Set(OperationState.allCases),
            needsRecord: true,
            apply: rerun.apply
        )
        change.spread = spreading.spread
        guard selection.isQuery else { return try await change.run(references, consent) }
        return try await change.run(selection, in: OperationState.allCases, consent)
    }
}

/// Enqueues operations again.
private struct Rerun: Sendable {
    let client: SluiceClient
    let queue: String?
    let changes: JSONValue
    let edits: Bool
    let invocation: Invocation

    @Sendable
    func apply(_ ids: [OperationID], _ place: String, _ spread: Spread?) async throws -> [OperationOutcome] {
        let details = try await client.broker.details(ids, queue: place)
        var rows: [OperationOutcome] = []
        var new: [NewOperation] = []
        let delays = spread?.delays(ids.count) ?? ids.map { _ in 0 }
        for (id, (detail, delay)) in zip(ids, zip(details, delays)) {
            let reference = id.description
            guard let detail else {
                rows.append(.init(reference: reference, result: .unknown, text: "is unknown", name: "unknown"))
                continue
            }
            do {
                let operation = try operation(detail, delay: delay)
                let location = Location(queue: queue ?? place, id: operation.id)
                new.append(operation)
                rows.append(.init(reference: reference, address: location, text: "rerun of \(id)", name: "rerun"))
            } catch let error as OperationsError where error.code == .refused {
                let location = Location(queue: place, id: id)
                rows.append(.init(location, error.message, "refused", .refused))
            }
        }
        _ = try await client.outcomes(new, queue: queue ?? place, durability: .none)
        return rows
    }

    private func operation(_ detail: OperationDetail, delay: Int64) throws -> NewOperation {
        var operation = try detail.rerun(client.seal, context: TraceContext.ofThisProcess) { envelope in
            envelope.arguments = try arguments(envelope.arguments)
        }
        operation.delayMilliseconds = delay
        return operation
    }

    private func arguments(_ old: [UInt8]) throws -> [UInt8] {
        var bytes = old
        if let members = changes.objectValue?.members, !members.isEmpty {
            guard case .object(var object) = try JSONValue(parsing: old) else {
                throw OperationsError(
                    .refused,
                    "has arguments that are not a JSON object, so k=v cannot replace one; use -e"
                )
            }
            for member in members { object[member.key] = member.value }
            bytes = Array(JSONValue.object(object).serialized().utf8)
        }
        return edits ? try TextEditor(invocation).edit(bytes, of: "arguments") : bytes
    }
}
