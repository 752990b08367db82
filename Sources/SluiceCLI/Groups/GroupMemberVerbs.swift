import ArgumentParser
import Operations
import Sluice
import SluiceOperator
import TerminalText

package struct GroupAddVerb: GroupVerb {
    package static let formats: Set<OutputFormat> = .all
    package static let effect = VerbEffect.changes

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "add",
            abstract: "Add enqueued operations to a group.",
            discussion: """
                EXAMPLES
                  \(Program.name) group add nightly-2026-01-31 7QK2MX mail/01J9ZM2QW3N8B5T4D7K6R1XYPE
                  \(Program.name) list -o id tag:import | \(Program.name) group add 7QK2MX -

                The operations may be in any queues, and may be executing or ended; untracked ones are refused. An \
                operation that waits for the group cannot be a member. To enqueue new members: enqueue --group
                """
        )
    }

    @OptionGroup package var target: GroupTarget
    @OptionGroup package var targets: Targets
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package var change: String? { "add operations to group \(target.group)" }

    package func check() throws {
        try target.check()
        guard targets.ids.isEmpty else { return }
        throw CLIError.usage("nothing to add", fix: "\(Program.name) group add \(target.group) ID..")
    }

    package func perform(
        _ group: GroupSummary,
        _ client: SluiceClient,
        _ invocation: Invocation
    ) async throws -> ExitStatus {
        let references = try targets.references()
        guard !references.isEmpty else {
            throw CLIError.usage("no ids on stdin; nothing was added", fix: "\(Program.name) list -o id")
        }
        try await add(try await members(references, client), to: group, client)
        let after = try await target.find(client)
        let count = QuantityText.grouped(after.progress.total)
        invocation.print(after, line: "\(after.id) has \(count) \(after.progress.total == 1 ? "member" : "members")")
        return .done
    }

    private func add(_ names: [DependencyName], to group: GroupSummary, _ client: SluiceClient) async throws {
        do { try await client.add(names, to: client.group(group.id, queue: group.queue)) } catch let error
            as OperationsError where error.code == .invalidOption
        {
            throw CLIError.usage(error.message, fix: "\(Program.name) graph \(group.id)")
        }
    }

    private func members(_ references: [IDReference], _ client: SluiceClient) async throws -> [DependencyName] {
        let findings = try await Locator(client).find(references)
        let missing = zip(references, findings).compactMap { OperationOutcome($1, of: $0) }
        if let error = OutcomeSummary(missing).error(participle: "added", namespace: client.namespace) { throw error }
        return findings.compactMap { finding in
            if case .found(let location) = finding { DependencyName(location.id, queue: location.queue) } else { nil }
        }
    }
}

package struct GroupCloseVerb: GroupVerb {
    package static let formats: Set<OutputFormat> = .all
    package static let effect = VerbEffect.changes

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "close",
            abstract: "Close a group: it ends when its members have ended.",
            discussion: """
                EXAMPLES
                  \(Program.name) group close nightly-2026-01-31

                Members can still be added to a closed group until all its members have ended. Closing it again \
                changes nothing.
                """
        )
    }

    @OptionGroup package var target: GroupTarget
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package var change: String? { "close group \(target.group)" }

    package func perform(
        _ group: GroupSummary,
        _ client: SluiceClient,
        _ invocation: Invocation
    ) async throws -> ExitStatus {
        try await client.group(group.id, queue: group.queue).close()
        let after = try await target.find(client)
        let text = group.progress.isOpen ? "closed" : "was closed before"
        let left = after.progress.total - after.progress.ended
        let rest = after.detail.state.isTerminal ? after.detail.state.rawValue : "\(QuantityText.grouped(left)) to end"
        invocation.print(after, line: "\(after.id) \(text): \(rest)")
        return .done
    }
}

package struct GroupCancelVerb: GroupVerb {
    package static let formats: Set<OutputFormat> = .all
    package static let effect = VerbEffect.changes

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "cancel",
            abstract: "Cancel a group with all its members.",
            discussion: """
                EXAMPLES
                  \(Program.name) group cancel nightly-2026-01-31 --reason "wrong day"
                  \(Program.name) group cancel 7QK2MX --wait=10s -y

                The group accepts no more members. Waiting members end at once and running ones are asked to stop, \
                also in inner groups. The group ends as cancelled when its last member has ended, and --wait waits for \
                that.
                Exit status: as for cancel.
                """
        )
    }

    @OptionGroup package var target: GroupTarget
    @Option(help: "Store this reason with the group and its members.") var reason = ""
    @Flag(help: ArgumentHelp("Wait until the group has ended (--wait=10s; 30s).", valueName: "duration"))
    var wait = false
    @Option(help: .hidden, transform: DurationText.parse)
    var waitTimeout: Duration?
    @OptionGroup var consent: Consent
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func perform(
        _ group: GroupSummary,
        _ client: SluiceClient,
        _ invocation: Invocation
    ) async throws -> ExitStatus {
        var invocation = invocation
        let open = group.progress.total - group.progress.ended
        if open > 0, !consent.dryRun {
            let members = "\(QuantityText.grouped(open)) \(open == 1 ? "member that has" : "members that have")"
            let question = "cancel group \(group.name(invocation.view)) with \(members) not ended?"
            try invocation.confirm(question, count: open)
            invocation = invocation.confirmed
        }
        let cancel = OperationCancel(
            client: client,
            invocation: invocation,
            reason: reason,
            queue: nil,
            isForced: false,
            waitLimit: wait ? waitTimeout ?? CancelVerb.defaultWait : nil,
            standing: nil
        )
        return try await cancel.run([IDReference(queue: group.queue, .full(group.id))], consent, withTree: false)
    }
}
