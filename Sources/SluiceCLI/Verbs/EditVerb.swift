import ArgumentParser
import Operations
import Sluice
import SluiceOperator
import TerminalText

package struct EditVerb: Verb {
    package static let formats: Set<OutputFormat> = .all
    package static let effect = VerbEffect.changes

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "edit",
            abstract: "Change priority, time or tags of operations that wait.",
            discussion: """
                EXAMPLES
                  \(Program.name) edit 7QK2MX -p high
                  \(Program.name) edit 7QK2MX --in 2h -t night
                  \(Program.name) edit -w 'queue:mail tag:newsletter' -p low
                  \(Program.name) edit 7QK2MX

                Only waiting operations can be edited: ready, scheduled, retrying and held ones. A ready operation \
                with a new priority goes behind the others of that priority; with a time it becomes scheduled. -t \
                replaces all tags; signed or encrypted operations need their keys for this. Without an option, $VISUAL \
                or $EDITOR opens. To start an operation at once: \(Program.name) retry
                """
        )
    }

    @OptionGroup package var targets: Targets
    @Option(
        name: [.customShort("w"), .customLong("where")],
        help: ArgumentHelp("Select by a query: 'state:ready name:Send*' (list --help).", valueName: "query")
    )
    var query: [String] = []
    @Option(
        name: .shortAndLong,
        help: "The new priority: veryLow, low, normal, high or veryHigh.",
        transform: { try OperationPriority(typed: $0) }
    )
    var priority: OperationPriority?
    @Option(help: "Start no earlier than this time: 2026-01-31T08:00:00Z.", transform: TimeText.parse) var at: Int64?
    @Option(
        name: .customLong("in"),
        help: "Start no earlier than this time from now (10m).",
        transform: DurationText.parse
    )
    var delay: Duration?
    @Option(name: .shortAndLong, help: "A new tag; may be repeated. Replaces all tags.") var tag: [String] = []
    @OptionGroup var consent: Consent
    @OptionGroup package var global: GlobalOptions

    package init() {}

    private var selection: Selection {
        var selection = Selection()
        (selection.targets, selection.query, selection.tag) = (targets, query, [])
        return selection
    }

    private var isInteractive: Bool { priority == nil && at == nil && delay == nil && tag.isEmpty }

    package func check() throws {
        try selection.check()
        try TimeLimit.check(delay, "--in")
        guard at == nil || delay == nil else { throw CLIError.usage("--at excludes --in", fix: "drop one of them") }
        guard isInteractive, !query.isEmpty || targets.ids.count != 1 else { return }
        throw CLIError.usage(
            "nothing to change; an editor opens for one operation",
            fix: "\(Program.name) edit ID -p high"
        )
    }

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        try invocation.beginChange(asking: nil)
        let references = try targets.references()
        guard !query.isEmpty || !references.isEmpty else {
            throw CLIError.usage("no ids; nothing was edited", fix: "\(Program.name) edit ID")
        }
        let client = try await invocation.connect()
        let wanted = EditRequest(priority: priority, at: at, delay: delay, tags: tag.isEmpty ? nil : tag)
        let edits = isInteractive ? TextEditor(invocation) : nil
        let editing = Editing(client: client, wanted: wanted, editor: edits)
        let states = OperationState.allCases.filter(\.isWaiting)
        let change = Change(
            invocation: invocation,
            client: client,
            verb: "edit",
            participle: "edited",
            allowed: Set(states),
            needsRecord: true,
            apply: editing.apply
        )
        guard !query.isEmpty else { return try await change.run(references, consent) }
        return try await change.run(selection, in: states, consent)
    }
}

extension EditRequest {
    /// Reads the person's changes in the editor.
    ///
    /// - Throws: `.usage` if a value cannot be read.
    fileprivate init(_ edited: JSONValue, of detail: OperationDetail, _ envelope: OperationEnvelope) throws {
        let header = detail.record.header
        let priority = edited["priority"]?.stringValue.flatMap { OperationPriority(rawValue: $0) }
        guard let priority, let tags = edited["tags"]?.arrayValue?.map(\.stringValue), !tags.contains(nil) else {
            throw CLIError.usage("\"priority\" or \"tags\" cannot be read; nothing was changed", fix: "edit it again")
        }
        let texts = tags.compactMap { $0 }
        let time = edited["at"]?.stringValue
        self.init(
            priority: priority == header.priority ? nil : priority,
            at: time == detail.dueText ? nil : try time.map(TimeText.parse),
            tags: texts == envelope.tags ? nil : texts
        )
    }
}

/// Edits operations of a queue.
private struct Editing: Sendable {
    let client: SluiceClient
    let wanted: EditRequest
    /// The editor; nil = the options name the changes.
    let editor: TextEditor?

    private struct Target {
        var index: Int
        var edit: OperationEdit
    }

    @Sendable
    func apply(_ ids: [OperationID], _ queue: String, _ spread: Spread?) async throws -> [OperationOutcome] {
        let details = try await client.broker.details(ids, queue: queue)
        let now =
            wanted.at == nil && editor == nil
            ? 0 : try await client.broker.snapshot(queue: queue, executingRows: 0).time
        var rows: [OperationOutcome] = []
        var targets: [Target] = []
        for (id, detail) in zip(ids, details) {
            let location = Location(queue: queue, id: id)
            guard let detail else {
                rows.append(.init(location, "is unknown", "unknown", .unknown))
                continue
            }
            do {
                targets.append(Target(index: rows.count, edit: try edit(detail, now)))
                rows.append(.init(location, "edited", "edited"))
            } catch let error as OperationsError where [.refused, .invalidOption, .tooLarge].contains(error.code) {
                rows.append(.init(location, error.message, "refused", .refused))
            }
        }
        let outcomes = try await client.broker.edit(targets.map(\.edit), by: SluiceClient.identity, queue: queue)
        for (target, outcome) in zip(targets, outcomes) {
            guard let refusal = outcome.refusal else { continue }
            let location = Location(queue: queue, id: target.edit.record.header.id)
            rows[target.index] = .init(location, refusal.text, refusal.name, refusal.result)
        }
        return rows
    }

    private func edit(_ detail: OperationDetail, _ now: Int64) throws -> OperationEdit {
        guard let editor, detail.state.isWaiting, detail.links.group == nil else {
            return try wanted.edit(detail, client.seal, now: now)
        }
        let envelope = try detail.verifiedEnvelope(client.seal)
        let text: JSONValue = [
            "priority": .string(detail.record.header.priority.rawValue),
            "at": JSONValue(detail.dueText),
            "tags": .array(envelope.tags.map { .string($0) }),
        ]
        let saved = try JSONValue(parsing: try editor.edit(Array(text.serialized().utf8), of: "operation"))
        return try EditRequest(saved, of: detail, envelope).edit(detail, client.seal, now: now)
    }
}
