import ArgumentParser
import Operations
import Schedules
import Sluice
import SluiceMonitor
import SluiceOperator
import TerminalText

package struct ScheduleListVerb: Verb {
    package static let formats: Set<OutputFormat> = .all
    package static let effect = VerbEffect.reads

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "ls",
            abstract: "List schedules, with the next and the last run of each.",
            discussion: """
                EXAMPLES
                  \(Program.name) schedule ls
                  \(Program.name) schedule ls -q reports -o json
                """,
            aliases: ["list"]
        )
    }

    @Option(name: .shortAndLong, help: "List those of this queue.") var queue: String?
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        let client = try await invocation.connectReadingClock()
        if let queue { try await client.knownQueue(queue) }
        let schedules = try await client.schedules.all(queue: queue)
        invocation.print(report(schedules), names: schedules.map(\.id)) { ["v": 1, "schedules": .array($0)] }
        if schedules.isEmpty, invocation.format.isText {
            invocation.console.note("no schedules; add one: \(Program.name) schedule add ID NAME --every 10m")
        }
        return .done
    }

    private func report(_ schedules: [OperationSchedule]) -> RowReport<OperationSchedule> {
        RowReport(
            schedules,
            [
                .text("ID") { $0.id },
                .text("QUEUE") { $0.queue },
                .text("WHEN") { $0.recurrence?.description ?? "unreadable" },
                ReportColumn(
                    TableColumn("NEXT"),
                    csv: "NEXT",
                    value: { $0.next.map(OperationJSON.time) ?? .string($0.state.rawValue) },
                    cell: { schedule, view in TableCell(schedule.next.map(view.time) ?? schedule.state.rawValue) }
                ),
                .time("LAST") { $0.stored.runs.last?.instant },
                .count("ENQUEUED") { Int64($0.enqueued) },
                .text("NAME") { $0.name },
            ],
            object: ScheduleJSON.object
        )
    }
}

extension OperationSchedule {
    /// The next instant of an active schedule.
    fileprivate var next: Int64? { state == .active ? stored.due : nil }
}

package struct ScheduleShowVerb: Verb {
    package static let formats: Set<OutputFormat> = .jsonAndIDs
    package static let effect = VerbEffect.reads

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "show",
            abstract: "Show schedules: when each runs next, or why it does not, and what it enqueues.",
            discussion: """
                EXAMPLES
                  \(Program.name) schedule show nightly
                  \(Program.name) schedule show nightly -q reports -o json
                """
        )
    }

    @OptionGroup var targets: ScheduleTargets
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        let client = try await invocation.connectReadingClock()
        let console = invocation.console
        for schedule in try await targets.find(client) {
            if invocation.format.isJSON {
                console.print(ScheduleJSON.object(schedule), invocation.format)
            } else if invocation.format == .id {
                console.print(schedule.id)
            } else {
                let snapshot = try await client.broker.snapshot(queue: schedule.queue, executingRows: 0)
                console.print(lines(schedule, snapshot, invocation).map { SafeText.line($0) })
            }
        }
        return .done
    }

    private func lines(_ schedule: OperationSchedule, _ snapshot: QueueSnapshot, _ invocation: Invocation) -> [String] {
        func time(_ milliseconds: Int64) -> String {
            TimeText.format(milliseconds, invocation.settings.time.content, now: snapshot.time)
        }
        let (stored, rules) = (schedule.stored, schedule.rules)
        var lines = ["\(schedule.id) " + ScheduleText.sentence(schedule, now: snapshot.time)]
        if let fix = ScheduleText.fix(schedule) { lines.append("  try:  \(fix)") }
        if schedule.state == .active, snapshot.liveWorkers.isEmpty {
            lines += [
                "no worker serves queue \(schedule.queue)", "  try:  \(Program.name) worker -q \(schedule.queue)",
            ]
        } else if snapshot.paused {
            lines.append("queue \(schedule.queue) is paused: enqueued operations wait")
        }
        lines.append("when       " + (schedule.recurrence?.description ?? "unreadable"))
        lines.append("operation  \(schedule.name) in queue \(schedule.queue)")
        lines.append("misfire    \(rules.misfire.rawValue)")
        if let policy = rules.ifExists { lines.append("if exists  \(policy.rawValue)") }
        if rules.jitter > .zero { lines.append("jitter     up to \(DurationText.coarse(rules.jitter))") }
        if let start = rules.start { lines.append("start      \(time(start.milliseconds))") }
        if let end = rules.end { lines.append("end        \(time(end.milliseconds))") }
        lines.append("enqueued   \(QuantityText.grouped(stored.runs.enqueued))")
        if let last = stored.runs.last { lines.append("last       \(time(last.instant)), operation \(last.id)") }
        if let missed = stored.runs.missedAt { lines.append("missed     \(time(missed))") }
        if let at = stored.runs.overlappedAt {
            lines.append("overlapped \(time(at)): an earlier operation was in flight")
        }
        lines.append("changed    \(time(stored.changedAt)) by \(stored.changedBy)")
        return lines
    }
}

package struct ScheduleRemoveVerb: Verb {
    package static let formats: Set<OutputFormat> = .jsonAndIDs
    package static let effect = VerbEffect.changes

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "rm",
            abstract: "Remove schedules. What they have enqueued stays.",
            discussion: """
                EXAMPLES
                  \(Program.name) schedule rm nightly
                  \(Program.name) schedule rm nightly backup -q reports
                """
        )
    }

    @OptionGroup var targets: ScheduleTargets
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        try await ScheduleChanges(targets, invocation).run("remove", "removed", "was removed by another client") {
            client,
            schedule in
            try await client.schedules.remove(schedule.id, queue: schedule.queue)
        }
    }
}

package struct SchedulePauseVerb: Verb {
    package static let formats: Set<OutputFormat> = .jsonAndIDs
    package static let effect = VerbEffect.changes

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "pause",
            abstract: "Pause schedules: they enqueue nothing. Operations already enqueued continue.",
            discussion: """
                EXAMPLES
                  \(Program.name) schedule pause nightly
                """
        )
    }

    @OptionGroup var targets: ScheduleTargets
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        try await ScheduleChanges(targets, invocation).run("pause", "paused", "is paused already") { client, schedule in
            try await client.schedules.pause(schedule.id, queue: schedule.queue)
        }
    }
}

package struct ScheduleResumeVerb: Verb {
    package static let formats: Set<OutputFormat> = .jsonAndIDs
    package static let effect = VerbEffect.changes

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "resume",
            abstract: "Resume paused schedules at their next instant.",
            discussion: """
                EXAMPLES
                  \(Program.name) schedule resume nightly
                """
        )
    }

    @OptionGroup var targets: ScheduleTargets
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        try await ScheduleChanges(targets, invocation).run("resume", "resumed", "is not paused") { client, schedule in
            try await client.schedules.resume(schedule.id, queue: schedule.queue)
        }
    }
}

package struct ScheduleRunVerb: Verb {
    package static let formats: Set<OutputFormat> = .jsonAndIDs
    package static let effect = VerbEffect.adds

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "run",
            abstract: "Enqueue the operation of a schedule now, in addition to its instants.",
            discussion: """
                EXAMPLES
                  \(Program.name) schedule run nightly
                  id=$(\(Program.name) schedule run nightly -o id)
                """
        )
    }

    @OptionGroup var targets: ScheduleTargets
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        try invocation.beginChange(asking: nil)
        let client = try await invocation.connectReadingClock()
        for schedule in try await targets.find(client) {
            let reference = try await client.schedules.runNow(schedule.id, queue: schedule.queue)
            if invocation.format.isJSON {
                let object: JSONValue = [
                    "v": 1, "id": .string("\(reference.id)"), "queue": .string(schedule.queue),
                    "name": .string(schedule.name), "created": .bool(reference.isNew),
                ]
                invocation.console.print(object, invocation.format)
            } else {
                invocation.console.print(["\(reference.id)"])
                if !reference.isNew {
                    invocation.console.note("\(reference.id) is in flight (--if-exists): nothing was enqueued")
                }
            }
        }
        return .done
    }
}

/// Changes schedules, and prints a line for each.
struct ScheduleChanges {
    let targets: ScheduleTargets
    let invocation: Invocation

    init(_ targets: ScheduleTargets, _ invocation: Invocation) {
        self.targets = targets
        self.invocation = invocation
    }

    /// Changes the schedules, and prints the outcome of each.
    ///
    /// - Parameters:
    ///   - verb: the change, for the confirmation.
    ///   - participle: the outcome for a changed schedule.
    ///   - already: the outcome for an unchanged schedule.
    func run(
        _ verb: String,
        _ participle: String,
        _ already: String,
        _ change: (SluiceClient, OperationSchedule) async throws -> Bool
    ) async throws -> ExitStatus {
        let many = targets.ids.count == 1 ? "schedule \(targets.ids[0])" : "\(targets.ids.count) schedules"
        try invocation.beginChange(asking: "\(verb) \(many)")
        let client = try await invocation.connectReadingClock()
        var outcomes: [(schedule: OperationSchedule, isChanged: Bool)] = []
        for schedule in try await targets.find(client) {
            outcomes.append((schedule, try await change(client, schedule)))
        }
        let console = invocation.console
        if invocation.format.isJSON {
            let objects = outcomes.map { schedule, isChanged -> JSONValue in
                ["id": .string(schedule.id), "queue": .string(schedule.queue), "changed": .bool(isChanged)]
            }
            console.print(["v": 1, "schedules": .array(objects)], invocation.format)
        } else if invocation.format == .id {
            console.print(outcomes.filter(\.isChanged).map(\.schedule.id))
        } else {
            console.print(outcomes.map { "\($0.schedule.id) " + ($0.isChanged ? participle : already) })
        }
        return .done
    }
}

package struct SchedulePreviewVerb: Verb {
    package static let formats: Set<OutputFormat> = .all
    package static let effect = VerbEffect.reads

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "preview",
            abstract: "Show the next runs of a schedule, or of a cron expression that is not stored.",
            discussion: """
                EXAMPLES
                  \(Program.name) schedule preview nightly
                  \(Program.name) schedule preview --cron '30 2 * * *' --tz Europe/Berlin --from 2027-03-26T00:00:00Z
                """
        )
    }

    @Argument(help: ArgumentHelp("Id of a schedule.", valueName: "schedule")) var id: String?
    @Option(name: .shortAndLong, help: "Look in this queue only.") var queue: String?
    @OptionGroup var time: RecurrenceFlags
    @Option(name: .shortAndLong, help: ArgumentHelp("Show so many runs, 1 to 1000 (10).", valueName: "n"))
    var number = 10
    @Option(help: ArgumentHelp("Begin at this time instead of now.", valueName: "time"), transform: TimeText.parse)
    var from: Int64?
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func check() throws {
        guard (1...1000).contains(number) else {
            throw CLIError.usage("-n is \(number); expected 1 to 1000", fix: "-n 10")
        }
        guard (id == nil) == time.isGiven else {
            let fix = "\(Program.name) schedule preview ID, or --cron '0 3 * * *' --tz Europe/Berlin"
            throw CLIError.usage(
                id == nil
                    ? "nothing to preview; expected an id, --every or --cron" : "an id excludes --every and --cron",
                fix: fix
            )
        }
        if id == nil { _ = try time.recurrence() }
    }

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        let stored = try await storedDefinition(invocation)
        let now = from ?? invocation.now
        SchedulePreview(try stored ?? definition(now), count: number, now: now).print(invocation)
        return .done
    }

    private func definition(_ now: Int64) throws -> ScheduleDefinition {
        let bounds = time.bounds
        return ScheduleDefinition(
            recurrence: try time.recurrence(),
            anchor: time.start ?? now,
            rules: ScheduleRules(start: bounds.start, end: bounds.end),
            envelope: []
        )
    }

    /// The definition of the schedule with the given id; nil = no id was given.
    private func storedDefinition(_ invocation: Invocation) async throws -> ScheduleDefinition? {
        guard let id else { return nil }
        let schedule = try await ScheduleTargets.find([id], queue: queue, try await invocation.connectReadingClock())[0]
        guard let definition = schedule.definition else {
            throw CLIError(.refused, "schedule \(id) cannot be read", fix: "\(Program.name) schedule show \(id)")
        }
        return definition
    }
}
