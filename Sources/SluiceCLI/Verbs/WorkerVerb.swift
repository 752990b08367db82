import ArgumentParser
import BuiltinOperations
import Logging
import Operations
import Sluice
import TerminalText
import WorkerRuntime

package struct WorkerVerb: Verb {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "worker",
            abstract: "Run operations of queues until stopped.",
            discussion: """
                EXAMPLES
                  \(Program.name) worker -c 4 --allow exec
                  \(Program.name) worker -q mail:3,default
                  \(Program.name) worker --handler mail.send=./send.py -c 8
                  \(Program.name) worker --allow exec --pass-env DATABASE_URL,'AWS_*'
                  \(Program.name) worker --burst

                The first SIGTERM or Ctrl-C claims no more and lets what runs end within the drain time-out; what does not is given
                back, and the attempt is not counted. The second one gives everything back now. SIGQUIT, SIGUSR1 and SIGUSR2 do the same.
                SIGHUP (the terminal closes) begins the drain, and a second SIGHUP changes nothing; under nohup SIGHUP is ignored.
                -q takes names, weights (mail:3,default), reserved slots (mail=8) or all queues ('*').
                --max-operations and --max-rss end the worker as the first SIGTERM does, with exit 0 and a line that says why: start it
                again with what starts it.
                A Redis with a maxmemory and another maxmemory-policy than noeviction is refused (exit 78) unless --allow-eviction; if that
                changes while the worker runs, it warns.
                --health PORT answers GET /live (the process answers) and GET /ready (200 if within 10 s Redis has answered and a claim
                was made or waited for, or all slots are busy; else, and while it drains, 503); --health FILE writes the same as JSON every
                2 s: who reads it
                compares "time".
                --processes starts this worker several times, restarts what dies (ever later if it dies soon), hands back at once what a dead
                process ran, and passes signals on. --max-operations and --max-rss are for each process, --health is for all of them.
                --handler runs a program for a name: arguments as JSON on standard input, result as JSON on standard output, log on standard
                error; another exit code than 0 is a failed attempt. It may write JSON lines to descriptor 3: {"progress":0.5,"message":"…"},
                {"checkpoint":…} (the next run finds it in SLUICE_CHECKPOINT), {"error":"…","then":"retry|dead|discard","after":30}.
                Programs of exec and --handler get these variables of the worker: \(ProgramEnvironment.standard.joined(separator: ", ")),
                and those that --pass-env names (DATABASE_URL, or AWS_* for all that begin so); with --allow exec, producers can read them.
                SLUICE_OPERATION_ID, _NAME, SLUICE_ATTEMPT, _DELIVERY, _FENCE and _QUEUE are set. A cancel is SIGTERM to its process group,
                then SIGKILL; no program outlives its worker.
                An operation that reaches its time limit or is cancelled is told to end. If it has not after --cancel-grace and a second, it is
                stuck: it is dead (error "stuck"; cancelled, if it was), its later writes are refused, and with --stuck free its slot is free
                while its body goes on. --stuck replace also drains the worker and ends it with exit 75: --processes, or what else starts it,
                starts a fresh one. If stuck operations hold every thread, it exits at once and what it held is handed back.
                --allow takes exec (programs that the producer names), http (requests) and download (url to file); their arguments:
                \(Program.name) help built-ins
                --burst ends when nothing is ready or executing and nothing is due within 1 s; --burst=all also waits for what is
                scheduled or retrying.
                """
        )
    }

    @Option(name: [.customShort("c"), .customLong("slots")], help: "Operations at the same time.")
    var slots = Defaults.slots
    @Option(name: .shortAndLong, help: "Queues to serve (default).")
    var queue: [String] = []
    @Option(help: "A label for people; host and process number without it.")
    var name: String?
    @Option(help: ArgumentHelp("What may reach outside: exec, http, download.", valueName: "names"))
    var allow: [String] = []
    @Option(help: ArgumentHelp("Run a program for the operations of a name.", valueName: "name=program"))
    var handler: [String] = []
    @Option(
        help: ArgumentHelp("Pass these variables on to programs; PREFIX* for all that begin so.", valueName: "names")
    )
    var passEnv: [String] = []
    @Option(help: "Longest time to wait for what runs when stopping (30s).", transform: DurationText.parse)
    var drainTimeout = Defaults.drainTimeout
    @Option(help: "How long a cancelled operation may take to end (10s).", transform: DurationText.parse)
    var cancelGrace = Defaults.cancelGrace
    @Option(help: "What follows a stuck operation: free its slot, or replace the process (exit 75).")
    var stuck = StuckPolicy.free
    @Option(help: ArgumentHelp("End after so many runs, for a fresh process to take over.", valueName: "n"))
    var maxOperations: Int?
    @Option(
        help: ArgumentHelp("The same when a heartbeat finds more resident memory (500M, 2G).", valueName: "size"),
        transform: SizeText.parse
    )
    var maxRss: Int64?
    @Flag(help: "End when there is nothing to do (--burst=all: also nothing scheduled or retrying).")
    var burst = false
    @Option(help: .hidden)
    var burstMode: String?
    @Option(help: "text or json, to stderr.", transform: { try LogFormat(typed: $0) })
    var logFormat = LogFormat.text
    @Option(help: ArgumentHelp("Work as so many processes, restarted when they die; -c is for each.", valueName: "p"))
    var processes: Int?
    @Option(help: .hidden)
    var supervised: String?
    @Option(help: ArgumentHelp("Tell its health: a FILE, a PORT (on 127.0.0.1) or ADDRESS:PORT.", valueName: "where"))
    var health: String?
    @Flag(help: "Work also on a Redis that throws operations away when its memory is full.")
    var allowEviction = false
    @Option(help: .hidden, transform: DurationText.parse)
    var watchInterval = Duration.seconds(60)
    @Option(help: .hidden, transform: DurationText.parse)
    var lease = Defaults.lease
    @OptionGroup package var global: GlobalOptions

    /// More is a slip.
    private static let mostProcesses = 256

    package init() {}

    package func check() throws {
        _ = try allowed()
        _ = try HandlerOption.all(handler)
        _ = try ProgramEnvironment(typed: passEnv)
        _ = try burstKind()
        _ = try healthTarget()
        if let processes, !(1...Self.mostProcesses).contains(processes) {
            throw CLIError.usage("--processes is \(processes): use 1 to \(Self.mostProcesses)", fix: "--processes 4")
        }
        if let supervised, OperationID(supervised) == nil {
            throw CLIError.usage("--supervised takes an id, and only a supervisor uses it", fix: "--processes 4")
        }
        do { try workerConfiguration().validate() } catch let error as WorkerError {
            throw CLIError.usage(error.message, fix: "\(Program.name) worker --help")
        }
    }

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        try invocation.requireWritable()
        warnOfMissingVariables(invocation)
        let run = WorkerRun(
            invocation: invocation,
            configuration: try workerConfiguration(),
            registry: try registry(invocation, allowed: try allowed()),
            logFormat: logFormat,
            logLevel: global.verbose ? .debug : global.quiet ? .warning : .info,
            watchInterval: watchInterval,
            healthTarget: try healthTarget(),
            supervised: supervised.map { WorkerID($0) }
        )
        guard let processes else { return try await run.run() }
        return try await run.run(processes: processes)
    }

    /// The program's own operations first: one that has a built-in's name replaces it.
    private func registry(_ invocation: Invocation, allowed: Set<String>) throws(CLIError) -> OperationRegistry {
        var registry = OperationRegistry()
        invocation.register(&registry)
        let names = Set(registry.names)
        let environment = try ProgramEnvironment(typed: passEnv)
        let builtins = BuiltinOperations.handlers(
            allowed: allowed,
            cancelGrace: cancelGrace,
            environment: environment
        )
        for handler in builtins where !names.contains(handler.name) { registry.register(handler) }
        for option in try HandlerOption.all(handler) {
            guard !names.contains(option.name) else {
                throw .usage("--handler: \"\(option.name)\" is an operation of this program", fix: "another name")
            }
            registry.register(
                BuiltinOperations.program(
                    option.name,
                    path: option.program,
                    cancelGrace: cancelGrace,
                    environment: environment
                )
            )
        }
        return registry
    }

    private func warnOfMissingVariables(_ invocation: Invocation) {
        guard supervised == nil else { return }
        for name in ProgramEnvironment.missing(passEnv) {
            invocation.console.warn("--pass-env \(name): the worker has no such variable, so programs do not get it")
        }
    }

    private func workerConfiguration() throws -> WorkerConfiguration {
        WorkerConfiguration(
            name: name,
            queues: queue.isEmpty
                ? .named([QueueShare(Defaults.queue)]) : try QueueSelection(parsing: queue.joined(separator: ",")),
            slots: slots,
            lease: lease,
            drainTimeout: drainTimeout,
            cancelGrace: cancelGrace,
            stuck: stuck,
            burst: try burstKind(),
            maxOperations: maxOperations,
            maxResidentBytes: maxRss,
            allowsEviction: allowEviction
        )
    }

    private func allowed() throws(CLIError) -> Set<String> {
        let names = Set(allow.flatMap { $0.split(separator: ",").map(String.init) })
        guard let unknown = names.subtracting(BuiltinOperations.restricted).min() else { return names }
        let known = BuiltinOperations.restricted.sorted()
        let near = Suggestion.nearest(to: unknown, among: known).map { "; did you mean \"\($0)\"?" } ?? ""
        throw .usage(
            "--allow knows no \(OperationsError.quoted(unknown))\(near)",
            fix: "--allow " + known.joined(separator: ",")
        )
    }

    private func healthTarget() throws(CLIError) -> HealthTarget? {
        guard let health else { return nil }
        return try HealthTarget(parsing: health)
    }

    private func burstKind() throws(CLIError) -> WorkerConfiguration.Burst {
        guard burst else { return .none }
        switch burstMode {
        case nil, "ready": return .ready
        case "all": return .all
        case let other?:
            throw .usage("--burst=\(OperationsError.quoted(other)) is unknown", fix: "--burst or --burst=all")
        }
    }
}

extension StuckPolicy: ExpressibleByArgument {}

extension LogFormat {
    fileprivate init(typed text: String) throws(CLIError) {
        guard let format = LogFormat(rawValue: text) else { throw .usage("unknown log format", fix: "text or json") }
        self = format
    }
}
