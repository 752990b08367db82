import ArgumentParser
import Operations
import Sluice
import SluiceMonitor

package struct CancelVerb: Verb {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "cancel",
            abstract: "Cancel operations, a queue, or everything.",
            discussion: """
                EXAMPLES
                  \(Program.name) cancel 7QK2MX
                  \(Program.name) cancel 7QK2MX --wait=10s --reason "wrong file"
                  \(Program.name) cancel --queue mail -y
                  \(Program.name) cancel --all -y --wait

                A waiting operation ends at once; a running one is told, and --wait waits until it stopped.
                Exit status: 0 cancelled (also if it was before), 3 unknown, 4 not stopped in time, 5 it had already ended.
                """
        )
    }

    /// How long `--wait` waits when it says nothing else.
    static let defaultWait: Duration = .seconds(30)

    @OptionGroup package var targets: Targets
    @Option(name: .shortAndLong, help: "With ids: the queue that they are in. Alone: everything in it now.")
    var queue: String?
    @Flag(help: "Everything in all queues of the namespace now.")
    var all = false
    @Option(help: "For people; kept with the operations.")
    var reason = ""
    @Flag(help: ArgumentHelp("Wait until the running ones stopped (--wait=10s; 30s).", valueName: "duration"))
    var wait = false
    @Option(help: .hidden, transform: DurationText.parse)
    var waitTimeout: Duration?
    @Flag(name: [.short, .long], help: "Do not ask.")
    var yes = false
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func check() throws {
        if let queue { try NameRule.check(queue, role: "queue") }
        guard targets.ids.isEmpty == (all || queue != nil) || (queue != nil && !all) else {
            throw CLIError.usage(
                targets.ids.isEmpty ? "nothing to cancel" : "ids and --all exclude each other",
                fix: "\(Program.name) cancel ID.., --queue Q or --all"
            )
        }
        guard !(all && queue != nil) else {
            throw CLIError.usage("--all and --queue exclude each other", fix: "drop one of them")
        }
    }

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        try invocation.requireWritable()
        let references = try targets.references()
        if references.isEmpty, !all, queue == nil || !targets.ids.isEmpty {
            throw CLIError.usage("no ids on stdin; nothing was cancelled", fix: "\(Program.name) list -o id")
        }
        let client = try await invocation.connect()
        let deadline = wait ? ContinuousClock.now + (waitTimeout ?? Self.defaultWait) : nil
        guard references.isEmpty else {
            return try await OperationCancel(client: client, invocation: invocation, reason: reason, queue: queue)
                .run(references, deadline: deadline)
        }
        return try await QueueCancel(client: client, invocation: invocation, reason: reason)
            .run(queue.map { [$0] }, isConfirmed: yes, deadline: deadline)
    }
}
