import ArgumentParser
import EmbeddedRedis
import Operations
import RedisClient
import Sluice
import SluiceMonitor
import TerminalText

/// `sluice` itself: the short help and one line about how things stand.
package struct RootCommand: Verb {
    /// The commands of the running program besides those of every program, which `SluiceMain.run(adding:)` sets.
    @TaskLocal package static var added: [any Verb.Type] = []

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

                Options go before or behind the command. Without --redis, SLUICE_REDIS_URL or REDIS_URL a private redis-server is started and shared by your commands.
                Exit status: \(Program.name) help exit-codes
                Operations that every worker knows, and their arguments: \(Program.name) help built-ins
                """,
            version: "sluice \(Program.version)",
            subcommands: [
                WorkerVerb.self, EnqueueVerb.self, CancelVerb.self, WaitVerb.self, ShowVerb.self, ResultVerb.self,
                LogsVerb.self, ListVerb.self, StatsVerb.self, RetryVerb.self, RemoveVerb.self, QueueGroup.self,
                WorkersGroup.self, EventsVerb.self, StatVerb.self, MonitorVerb.self, DoctorVerb.self, RedisGroup.self,
                ConfigGroup.self,
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

/// What can be said at once, without starting anything and without waiting long.
private struct StatusLine {
    private static let patience: Duration = .milliseconds(500)
    private let invocation: Invocation

    init(_ invocation: Invocation) { self.invocation = invocation }

    var text: String {
        get async {
            let settings = invocation.settings
            if settings.redis.content == nil, (try? EmbeddedRedis().status()) == nil {
                return "status: the embedded Redis does not run; it is started when it is needed"
            }
            var quick = invocation.settings
            quick.connectTimeout.content = min(Self.patience, quick.connectTimeout.content)
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
    /// The rewriter of a command tree.
    package init(_ root: any ParsableCommand.Type) {
        var verbs = Verbs(root)
        verbs.names["help"] = verbs
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
