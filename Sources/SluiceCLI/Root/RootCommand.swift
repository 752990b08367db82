import ArgumentParser
import EmbeddedRedis
import Operations
import RedisClient
import Sluice
import SluiceMonitor
import SluiceOperator
import TerminalText

/// `sluice` without a verb: the short help and a status line.
package struct RootCommand: Verb {
    /// Commands that this program has beside the others, set by `SluiceMain.run(adding:)`.
    @TaskLocal package static var added: [any Verb.Type] = []

    package static let formats: Set<OutputFormat> = .textOnly
    package static let effect = VerbEffect.reads

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: Program.name,
            abstract: "A distributed operation queue over Redis.",
            discussion: """
                EXAMPLES
                  \(Program.name) worker -c 4 --allow exec
                  \(Program.name) enqueue --wait -- sh -c 'echo hello'
                  \(Program.name) list
                  \(Program.name) cancel --all

                Write options before or after the command. Without --redis, SLUICE_REDIS_URL or REDIS_URL your commands start and share a private redis-server.
                Exit status: \(Program.name) help exit-codes
                Built-in operations and their arguments: \(Program.name) help built-ins
                """,
            version: "sluice \(Program.version)",
            subcommands: [
                WorkerVerb.self, EnqueueVerb.self, CancelVerb.self, CancelsGroup.self, WaitVerb.self, ShowVerb.self,
                ResultVerb.self, LogsVerb.self, ListVerb.self, ExplainVerb.self, GraphVerb.self, DependVerb.self,
                ErrorsVerb.self,
                StatsVerb.self,
                TopGroup.self, RetryVerb.self, RerunVerb.self, EditVerb.self, HoldVerb.self, ReleaseVerb.self,
                RemoveVerb.self, QueueGroup.self, GroupGroup.self, ScheduleGroup.self, WorkersGroup.self,
                EventsVerb.self,
                StatVerb.self, MonitorVerb.self,
                DoctorVerb.self, RedisGroup.self, ConfigGroup.self, ManVerb.self, CompletionsVerb.self,
                CompleteVerb.self,
            ] + added
        )
    }

    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        invocation.console.print(Self.shortHelp)
        invocation.console.print(await StatusLine(invocation).text)
        return .done
    }
}

extension RootCommand {
    /// The help without the list of options.
    private static var shortHelp: [String] {
        let lines = helpMessage().split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        let options = lines.firstIndex { $0.hasPrefix("OPTIONS:") } ?? lines.endIndex
        let commands = lines.firstIndex { $0.hasPrefix("SUBCOMMANDS:") } ?? options
        return Array(lines[..<options] + lines[commands...])
    }
}

/// The status line. Starts no server, and waits only briefly.
private struct StatusLine {
    private static let patience: Duration = .milliseconds(500)
    private let invocation: Invocation

    init(_ invocation: Invocation) { self.invocation = invocation }

    var text: String {
        get async {
            let settings = invocation.settings
            var quick = settings
            quick.connectTimeout.content = min(Self.patience, quick.connectTimeout.content)
            if settings.redis.content == nil, (try? Connector.embeddedRedis(quick).status()) == nil {
                return "status: the embedded Redis does not run; a command that needs it starts it"
            }
            do {
                let client = try await invocation.with(quick).connect()
                let line = StatLine(try await client.snapshot(executingRows: 0), rates: Rates()).summary
                await client.close()
                return "status: namespace \(client.namespace): \(line)"
            } catch {
                return "status: " + SafeText.line(ErrorTranslation.report(error, settings: settings).message)
            }
        }
    }
}

extension StatLine {
    /// `ready 3, executing 1, dead 0`
    fileprivate var summary: String {
        let shown: [OperationState] = [.ready, .scheduled, .executing, .retrying, .dead]
        return shown.map { "\($0.rawValue) \(QuantityText.grouped(snapshot.counts[$0] ?? 0))" }.joined(separator: ", ")
    }
}

extension CommandLineRewriter {
    /// Makes a rewriter for a command tree. A command without subcommands has no `help` either.
    package init(_ root: any ParsableCommand.Type) {
        var verbs = Verbs(root)
        if !verbs.names.isEmpty { verbs.names["help"] = verbs }
        self.init(verbs: verbs, valueOptions: GlobalOptions.valueOptions)
    }
}

extension CommandLineRewriter.Verbs {
    fileprivate init(_ command: any ParsableCommand.Type) {
        self.init()
        for subcommand in command.configuration.subcommands {
            let verbs = Self(subcommand)
            for name in [subcommand._commandName] + subcommand.configuration.aliases { names[name] = verbs }
        }
    }
}
