import ArgumentParser
import Operations
import Sluice
import SluiceOperator
import TerminalText

package struct CancelVerb: Verb {
    package static let formats: Set<OutputFormat> = .all
    package static let effect = VerbEffect.changes

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "cancel",
            abstract: "Cancel operations, a queue, or everything.",
            discussion: """
                EXAMPLES
                  \(Program.name) cancel 7QK2MX
                  \(Program.name) cancel 7QK2MX --wait=10s --reason "wrong file"
                  \(Program.name) cancel -t nightly -y
                  \(Program.name) cancel -w 'name:Send* queue:mail' -y
                  \(Program.name) cancel -w 'args.user.id:42' --dry-run
                  \(Program.name) cancel 7QK2MX --tree --dry-run
                  \(Program.name) cancel --queue mail -y
                  \(Program.name) cancel --all -y --wait
                  \(Program.name) cancel -w 'name:Send* args.user.id:42' --until 10m -y
                  \(Program.name) cancel 7QK2MX --force --reason "does not stop"

                -t compares a tag as it is; in -w 'tag:v1*' the * matches anything at the end.
                A waiting operation ends at once. A running one gets a cancel request, and --wait waits until it has stopped.
                --until also cancels operations that are enqueued later: for this time, no operation that matches \
                name:, tag: and args.PATH: begins in the queues that exist now. `\(Program.name) cancels` lists and \
                removes such standing cancels.
                --force gives no grace: a running operation ends as cancelled at once, even if its worker is frozen, \
                and its later writes are refused. Its program gets SIGKILL as soon as the worker is notified; show \
                says when it has stopped.
                -w and -t cover all operations that exist when the cancel begins, even if they change their state meanwhile.
                Exit status: 0 cancelled now or before, 3 unknown, 4 not stopped in time, 5 already ended, 6 some of several.
                """
        )
    }

    /// The longest wait of `--wait` without a value.
    static let defaultWait: Duration = .seconds(30)

    @OptionGroup package var selection: Selection
    @OptionGroup var tree: TreeFlag
    @Option(name: .shortAndLong, help: "With ids: find them in this queue. Alone: cancel everything in it now.")
    var queue: String?
    @Flag(help: "Cancel everything in all queues of the namespace now.")
    var all = false
    @Option(help: "Store this reason with the operations.")
    var reason = ""
    @Flag(help: "End running operations at once, without a grace, and refuse their later writes.")
    var force = false
    @Flag(help: ArgumentHelp("Wait until running operations have stopped (--wait=10s; 30s).", valueName: "duration"))
    var wait = false
    @Option(help: .hidden, transform: DurationText.parse)
    var waitTimeout: Duration?
    @Option(
        help: ArgumentHelp("With -w or -t: also cancel later operations, for this long.", valueName: "duration"),
        transform: DurationText.parse
    )
    var until: Duration?
    @OptionGroup var consent: Consent
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func check() throws {
        if let queue { try NameRule.check(queue, role: "queue") }
        try selection.check()
        try tree.check(selection)
        let fix = "\(Program.name) cancel ID.., -w QUERY, -t TAG, --queue Q or --all"
        if selection.isQuery, all { throw CLIError.usage("-w, -t and --all exclude each other", fix: fix) }
        if selection.isQuery, queue != nil {
            throw CLIError.usage("-w, -t and --queue exclude each other", fix: "-w 'queue:\(queue ?? "") …'")
        }
        if let until { try StandingCancelling.check(selection, until) }
        let ids = selection.targets.ids
        guard selection.isQuery || ids.isEmpty == (all || queue != nil) || (queue != nil && !all) else {
            throw CLIError.usage(ids.isEmpty ? "nothing to cancel" : "ids and --all exclude each other", fix: fix)
        }
        guard !(all && queue != nil) else {
            throw CLIError.usage("--all and --queue exclude each other", fix: "drop one of them")
        }
    }

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        try invocation.beginChange(asking: nil)
        let references = try selection.targets.references()
        if references.isEmpty, !selection.isQuery, !all, queue == nil || !selection.targets.ids.isEmpty {
            throw CLIError.usage("no ids on stdin; nothing was cancelled", fix: "\(Program.name) list -o id")
        }
        let client = try await invocation.connectReadingClock()
        let limit = wait ? waitTimeout ?? Self.defaultWait : nil
        var standing: StandingCancelling?
        if let until {
            standing = StandingCancelling(
                client: client,
                invocation: invocation,
                query: try selection.parsed(),
                text: try StandingCancelling.text(of: selection),
                duration: until,
                reason: reason
            )
        }
        let cancel = OperationCancel(
            client: client,
            invocation: invocation,
            reason: reason,
            queue: queue,
            isForced: force,
            waitLimit: limit,
            standing: standing
        )
        if selection.isQuery { return try await cancel.run(selection, consent) }
        guard references.isEmpty else { return try await cancel.run(references, consent, withTree: tree.tree) }
        return try await QueueCancel(client: client, invocation: invocation, reason: reason, isForced: force)
            .run(queue.map { [$0] }, consent, waitLimit: limit)
    }
}
