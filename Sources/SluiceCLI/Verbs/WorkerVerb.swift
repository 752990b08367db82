import ArgumentParser
import BuiltinOperations
import Foundation
import Logging
import Operations
import Selectors
import Sluice
import SluiceOperator
import TerminalText
import WorkerRuntime

package struct WorkerVerb: Verb {
    /// The formats of errors. A worker prints no other data.
    package static let formats: Set<OutputFormat> = .json
    package static let effect = VerbEffect.adds

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
                  \(Program.name) worker --build 2026.11.3
                  \(Program.name) worker --burst

                SIGNALS
                The first SIGTERM or Ctrl-C starts the drain: the worker claims no more, and running operations may end within the drain \
                timeout. The others are given back, and their attempt does not count. A second signal gives everything back at once. \
                SIGQUIT, SIGUSR1 and SIGUSR2 do the same. SIGHUP (the terminal closes) starts the drain, and a second SIGHUP has no \
                effect; under nohup SIGHUP is ignored.

                QUEUES AND LIMITS
                -q takes names, weights (mail:3,default), reserved slots (mail=8) or all queues ('*'; a new \
                queue is served within 2 s).
                --max-operations and --max-rss end the worker like the first SIGTERM, with exit 0 and the reason in the log. Start it again \
                with your service manager.
                --burst ends when no operation is ready, executing or due within 1 s; --burst=all also waits for scheduled and retrying ones.
                A worker refuses to start (exit 78) if Redis has a maxmemory and the maxmemory-policy is not noeviction, except with \
                --allow-eviction. If that changes later, the worker warns.

                BUILD
                --build $(git rev-parse --short HEAD) names what runs here. workers ls and the dashboard show it, and the dashboard marks \
                in its charts when workers of a build first registered.

                HEALTH
                --health PORT answers GET /live (200 while the process answers) and GET /ready: 200 if, within 10 s, Redis has answered and \
                a claim was made or waited for, or if all slots are busy; otherwise, and during the drain, 503. --health FILE writes the same \
                as JSON every 2 s; the reader has to compare "time" with the clock.

                PROCESSES
                --processes starts this worker several times and passes signals on. A dead process is restarted (with growing pauses if it \
                dies soon), and its operations are recovered at once. --max-operations and --max-rss apply to each process, --health to all.

                PROGRAMS
                --allow takes exec (programs that the producer names), http (requests) and download (URL to file); their arguments: \
                \(Program.name) help built-ins
                --handler runs a program for a name: arguments as JSON on stdin, result as JSON on stdout, log on stderr. An exit code other \
                than 0 is a failed attempt, but 75: the program runs again after 30 s, and no attempt is used. The program may write JSON lines to descriptor 3: {"progress":0.5,"message":"…"}, \
                {"checkpoint":…} (passed to the next run in SLUICE_CHECKPOINT), {"snooze":60} (seconds, with exit code 75), {"error":"…","then":"retry|dead|discard","after":30}.
                Programs get these variables of the worker: \(ProgramEnvironment.standard.joined(separator: ", ")), \
                and those that --pass-env names (DATABASE_URL, or AWS_* as a prefix). With --allow exec, producers can read them. \
                With --pass-redis they also get SLUICE_REDIS_URL and SLUICE_NAMESPACE. Without a URL, sluice in a program ends with 78 \
                instead of starting the private Redis, which this worker does not serve. \
                SLUICE_OPERATION_ID, _NAME, SLUICE_ATTEMPT, _DELIVERY, _FENCE and _QUEUE are set. A cancel sends SIGTERM to the program's \
                process group, then SIGKILL. No program outlives its worker.

                OUTAGES OF REDIS
                While Redis does not answer, bodies that run go on for --outage-grace. When Redis answers again, the worker continues the \
                operations that it still owns, and stops at once those that another worker has taken. A worker cannot know whether it alone \
                is cut off; if it is, another one may run the same operation meanwhile. Give no grace to operations that must never run twice \
                at once: --outage-grace billing=0s (a name) or --outage-grace queue:billing=0s.

                STUCK OPERATIONS
                An operation at its time limit or with a cancel request has to end. If it has not ended after --cancel-grace and one second, \
                it is stuck: it becomes dead (error "stuck") or cancelled, and its later writes are refused. With --stuck free, its slot is \
                free while its body still runs. With --stuck replace, the worker also drains and exits with 75, and --processes or your \
                service manager starts a new one. If stuck operations hold all threads, it exits at once, and its operations are recovered.
                """
        )
    }

    @Option(name: [.customShort("c"), .customLong("slots")], help: "Run up to this many operations at the same time.")
    var slots = SluiceDefaults.slots
    @Option(name: .shortAndLong, help: "Serve these queues (default).")
    var queue: [String] = []
    @Option(help: "Show this label for the worker (host and process id).")
    var name: String?
    @Option(
        help: ArgumentHelp(
            "Report this build of your app, which the dashboard marks in its charts (SLUICE_BUILD).",
            valueName: "text"
        )
    )
    var build: String?
    @Option(help: ArgumentHelp("Allow built-in operations: exec, http, download.", valueName: "names"))
    var allow: [String] = []
    @Option(help: ArgumentHelp("Run a program for the operations of a name.", valueName: "name=program"))
    var handler: [String] = []
    @Option(
        help: ArgumentHelp("Pass these variables to programs; PREFIX* passes all with a prefix.", valueName: "names")
    )
    var passEnv: [String] = []
    @Flag(help: "Pass the Redis URL, with its password, and the namespace to programs, so that they can use sluice.")
    var passRedis = false
    @Option(help: "When stopping, wait this long for running operations (30s).", transform: DurationText.parse)
    var drainTimeout = SluiceDefaults.drainTimeout
    @Option(help: "Give a cancelled operation this time to end (10s).", transform: DurationText.parse)
    var cancelGrace = SluiceDefaults.cancelGrace
    @Option(
        help: ArgumentHelp(
            "Let bodies go on this long while Redis does not answer (10m); NAME=TIME and queue:NAME=TIME for some.",
            valueName: "time"
        )
    )
    var outageGrace: [String] = []
    @Option(help: "If an operation is stuck, free its slot, or replace the process (exit 75).")
    var stuck = StuckPolicy.free
    @Option(help: ArgumentHelp("End after n runs.", valueName: "n"))
    var maxOperations: Int?
    @Option(
        help: ArgumentHelp("End when a heartbeat finds more resident memory (500M, 2G).", valueName: "size"),
        transform: SizeText.parse
    )
    var maxRss: Int64?
    @Flag(help: "End when the queues are empty (--burst=all: also of scheduled and retrying operations).")
    var burst = false
    @Option(help: .hidden)
    var burstMode: String?
    @Option(help: "Write the log to stderr as text or json.", transform: { try LogFormat(typed: $0) })
    var logFormat = LogFormat.text
    @Option(help: ArgumentHelp("Run p processes and restart those that die; -c is for each.", valueName: "p"))
    var processes: Int?
    @Option(help: .hidden)
    var supervised: String?
    @Option(
        help: ArgumentHelp(
            "Serve health checks on PORT (of 127.0.0.1) or ADDRESS:PORT, or write them to FILE.",
            valueName: "where"
        )
    )
    var health: String?
    @Flag(help: "Work even if Redis deletes operations when its memory is full.")
    var allowEviction = false
    @Option(help: .hidden, transform: DurationText.parse)
    var watchInterval = Duration.seconds(60)
    @Option(help: .hidden, transform: DurationText.parse)
    var lease = SluiceDefaults.lease
    @OptionGroup package var global: GlobalOptions

    /// The largest number of processes. A larger one is probably a mistake.
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
            throw CLIError.usage("--supervised is for processes that --processes starts", fix: "--processes 4")
        }
        do { try workerConfiguration().validate() } catch let error as WorkerError {
            throw CLIError.usage(error.message, fix: "\(Program.name) worker --help")
        }
    }

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        try invocation.beginChange(asking: nil)
        warnOfMissingVariables(invocation)
        let run = WorkerRun(
            invocation: invocation,
            configuration: try workerConfiguration(),
            registry: try await registry(invocation, allowed: try allowed()),
            logFormat: logFormat,
            logLevel: global.verbose ? .debug : global.quiet ? .warning : .info,
            watchInterval: watchInterval,
            healthTarget: try healthTarget(),
            supervised: supervised.map { WorkerID($0) }
        )
        guard let processes else { return try await run.run() }
        return try await run.run(processes: processes)
    }

    /// Registers the handlers. The program's own operations come first: they replace built-in operations of the same
    /// name.
    private func registry(_ invocation: Invocation, allowed: Set<String>) async throws -> OperationRegistry {
        var registry = OperationRegistry()
        invocation.register(&registry)
        let names = Set(registry.names)
        let environment = try ProgramEnvironment(
            typed: passEnv,
            adding: passRedis ? try await Connector.variables(invocation) : [:]
        )
        let builtins = BuiltinOperations.handlers(
            allowed: allowed,
            cancelGrace: cancelGrace,
            environment: environment
        )
        for handler in builtins where !names.contains(handler.name) { registry.register(handler) }
        for option in try HandlerOption.all(handler) {
            guard !names.contains(option.name) else {
                throw CLIError.usage(
                    "--handler: \"\(option.name)\" is an operation of this program",
                    fix: "choose another name"
                )
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
            invocation.console.warn("--pass-env \(name): this variable is not set, so programs do not get it")
        }
    }

    private func workerConfiguration() throws -> WorkerConfiguration {
        WorkerConfiguration(
            name: name,
            build: try buildOrVariable(),
            queues: queue.isEmpty
                ? .named([QueueShare(SluiceDefaults.queue)])
                : try QueueSelection(parsing: queue.joined(separator: ",")),
            slots: slots,
            lease: lease,
            drainTimeout: drainTimeout,
            cancelGrace: cancelGrace,
            outageGrace: try OutageGrace(typed: outageGrace),
            stuck: stuck,
            burst: try burstKind(),
            maxOperations: maxOperations,
            maxResidentBytes: maxRss,
            allowsEviction: allowEviction,
            endsWhenStopped: true
        )
    }

    private static let buildVariable = "SLUICE_BUILD"

    /// The build of the command line, else that of the environment.
    private func buildOrVariable() throws(CLIError) -> String? {
        // A variable that was read from a file may end with a newline.
        let variable = ProcessInfo.processInfo.environment[Self.buildVariable]?
            .trimmingCharacters(in: .whitespacesAndNewlines)
        guard build == nil, let variable, !variable.isEmpty else { return build }
        guard BuildRule.allows(variable) else {
            throw CLIError(
                .badConfiguration,
                "\(Self.buildVariable) is \(OperationsError.quoted(variable)): use 1 to \(SluiceDefaults.buildLength) "
                    + "printable characters",
                fix: "export \(Self.buildVariable)=$(git rev-parse --short HEAD)"
            )
        }
        return variable
    }

    private func allowed() throws(CLIError) -> Set<String> {
        let names = Set(allow.flatMap { $0.split(separator: ",").map(String.init) })
        guard let unknown = names.subtracting(BuiltinOperations.restricted).min() else { return names }
        let known = BuiltinOperations.restricted.sorted()
        let near = Suggestion.nearest(to: unknown, among: known).map { "; did you mean \"\($0)\"?" } ?? ""
        throw .usage(
            "--allow: \(OperationsError.quoted(unknown)) is not a built-in operation\(near)",
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
        guard let format = LogFormat(rawValue: text) else {
            throw .usage(
                "unknown log format \(OperationsError.quoted(text)); expected text or json",
                fix: "--log-format json"
            )
        }
        self = format
    }
}
