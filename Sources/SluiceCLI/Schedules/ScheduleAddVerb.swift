import ArgumentParser
import Operations
import Schedules
import Sluice
import SluiceOperator
import TerminalText

package struct ScheduleAddVerb: Verb {
    package static let formats: Set<OutputFormat> = .jsonAndIDs
    package static let effect = VerbEffect.changes

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "add",
            abstract: "Add a schedule, or replace one.",
            usage: """
                \(Program.name) schedule add ID NAME [k=text | k:=json | k=@file].. (--every TIME | --cron EXPRESSION) [options]
                \(Program.name) schedule add ID (--every TIME | --cron EXPRESSION) [options] -- PROGRAM ARG..
                """,
            discussion: """
                EXAMPLES
                  \(Program.name) schedule add cleanup noop --every 10m
                  \(Program.name) schedule add nightly report day=today --cron '0 3 * * *' --tz Europe/Berlin -q reports
                  \(Program.name) schedule add backup --cron '@daily' --jitter 15m --misfire skip -- ./backup.sh --all
                  \(Program.name) schedule add sync sync --every 1m --if-exists skip
                  \(Program.name) schedule add nightly report --cron '0 4 * * *' --replace

                A cron expression has the fields minute, hour, day of the month, month and day of the week, and before them the seconds if there \
                are six: *, 1,5, 1-5, */10, JAN-MAR, MON. Where both days are given, one of them is enough, as in cron.
                When the clocks of its zone change, a fixed time runs once: a skipped time runs at the first instant \
                after it, a repeated time at its first occurrence. A cron expression with * as minute or hour runs by \
                elapsed time instead (*/15 * * * *: every 15 minutes), and skips times that the clocks skip.
                --if-exists: skip and join enqueue nothing while an earlier operation waits or runs; replace cancels the \
                earlier one; enqueue runs the new one after it; keepLatest lets a running one continue, and of the \
                waiting ones keeps only the latest.
                Adding an unchanged schedule again changes nothing. To replace a schedule with this id by a different \
                one, add --replace.
                """
        )
    }

    @Argument(
        help: ArgumentHelp("Id of the schedule, name of its operation, then its arguments.", valueName: "id name k=v")
    )
    var words: [String]
    /// The words after `--`; see `CommandLineRewriter`.
    @Option(name: .customLong("program-word"), help: .hidden, transform: { String($0.dropFirst()) })
    var program: [String] = []
    @Option(help: ArgumentHelp("Pass all arguments as one JSON value; - reads it from stdin.", valueName: "json"))
    var args: String?
    @OptionGroup var time: RecurrenceFlags
    @Option(name: .shortAndLong, help: "Enqueue into this queue (default).")
    var queue = SluiceDefaults.queue
    @Option(
        name: .shortAndLong,
        help: "Set the priority: veryLow, low, normal, high or veryHigh.",
        transform: { try OperationPriority(typed: $0) }
    )
    var priority = OperationPriority.normal
    @Option(name: [.short, .customLong("tag")], help: "Add a tag to the operations; may be repeated.")
    var tag: [String] = []
    @OptionGroup var headers: HeaderFlags
    @Option(
        help: ArgumentHelp(
            "Set what happens to instants that no worker could enqueue for a minute: latest enqueues one, skip none.",
            valueName: "latest|skip"
        )
    )
    var misfire: ScheduleRules.Misfire = .latest
    @Option(
        help: ArgumentHelp(
            "Set the policy for an instant while an earlier operation waits or runs (default: both run).",
            valueName: "join|skip|replace|enqueue|keepLatest"
        )
    )
    var ifExists: ScheduleRules.IfExists?
    @Option(help: "Delay each operation by up to this time, for example 30s.", transform: DurationText.parse)
    var jitter: Duration = .zero
    @Option(
        help: "Expire an operation that has not started within this time, for example 2h.",
        transform: DurationText.parse
    )
    var expires: Duration?
    @Option(help: ArgumentHelp("Run an operation at most n times, 1 to 999 (5).", valueName: "n"))
    var attempts: Int?
    @Option(help: "Limit the time of one attempt, for example 30s.", transform: DurationText.parse)
    var runTimeout: Duration?
    @Flag(help: "Replace another schedule with this id.")
    var replace = false
    @Flag(help: "Check everything and show the next runs, but store nothing.")
    var dryRun = false
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func check() throws {
        try NameRule.check(words.first ?? "", role: "schedule")
        try NameRule.check(queue, role: "queue")
        guard words.count > 1 || !program.isEmpty else {
            throw CLIError.usage(
                "schedule \(words[0]) has no operation; expected its name, or a program after --",
                fix: "\(Program.name) schedule add \(words[0]) NAME --every 10m"
            )
        }
        _ = try time.recurrence()
        try headers.check()
        try ScheduleControl.checkKey(words[0], ifExists)
        _ = try options.operation(name: name, arguments: Array("{}".utf8), serverTime: nil)
    }

    private var id: String { words[0] }
    private var name: String { program.isEmpty ? words[1] : "exec" }

    private var options: EnqueueOptions {
        var options = EnqueueOptions(.priority(priority))
        options.tags = tag
        options.headers = headers.values
        options.attempts = attempts
        options.expires = expires
        options.runTimeout = runTimeout
        return options
    }

    private func definition() throws -> ScheduleDefinition {
        let new = try options.operation(name: name, arguments: try arguments().serializedBytes(), serverTime: nil)
        let bounds = time.bounds
        let definition = ScheduleDefinition(
            recurrence: try time.recurrence(),
            anchor: 0,
            rules: ScheduleRules(
                misfire: misfire,
                ifExists: ifExists,
                jitter: jitter,
                start: bounds.start,
                end: bounds.end
            ),
            priority: priority,
            expiresMilliseconds: new.expiresMilliseconds,
            envelope: new.envelope
        )
        try definition.check()
        return definition
    }

    private func arguments() throws(CLIError) -> JSONValue {
        let pairs = Array(words.dropFirst(program.isEmpty ? 2 : 1))
        if let args {
            guard pairs.isEmpty, program.isEmpty else {
                throw .usage("--args and k=v arguments exclude each other", fix: "drop --args, or the other arguments")
            }
            return try EnqueueVerb.json(args)
        }
        var object = try KeyValueArguments.object(from: pairs)
        if !program.isEmpty, var members = object.objectValue {
            members["argv"] = .array(program.map { .string($0) })
            object = .object(members)
        }
        return object
    }

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        var definition = try definition()
        if dryRun {
            definition.anchor = time.start ?? invocation.now
            SchedulePreview(definition, count: 5, now: invocation.now).print(invocation)
            return .done
        }
        try invocation.beginChange(asking: "\(replace ? "replace" : "add") schedule \(id)")
        let client = try await invocation.connectReadingClock()
        let (schedule, outcome) = try await store(definition, client)
        let console = invocation.console
        if invocation.format.isJSON {
            console.print(ScheduleJSON.object(schedule), invocation.format)
        } else if invocation.format == .id {
            console.print(id)
        } else {
            console.print(["\(id): " + ScheduleText.sentence(schedule, now: invocation.now)])
        }
        if outcome == .unchanged { console.note("schedule \(id) is as it was: nothing was changed") }
        await QueueCheck(client, done: "stored").warn([(queue, name)], console: console)
        return .done
    }

    private func store(
        _ definition: ScheduleDefinition,
        _ client: SluiceClient
    ) async throws -> (schedule: OperationSchedule, outcome: ScheduleControl.Stored) {
        do {
            return try await client.schedules.store(definition, id, queue: queue, mayReplace: replace)
        } catch let error as OperationsError where error.code == .refused && !replace {
            throw CLIError(
                .refused,
                error.message,
                fix: "add --replace, or look at it: \(Program.name) schedule show \(id)"
            )
        }
    }
}

extension ScheduleRules.Misfire: ExpressibleByArgument {}
extension ScheduleRules.IfExists: ExpressibleByArgument {}
