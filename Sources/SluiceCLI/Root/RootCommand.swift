import ArgumentParser

/// `sluice` itself: the verbs and the short help.
struct RootCommand: ParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: Program.name,
            abstract: "A distributed operation queue over Redis.",
            discussion: """
                EXAMPLES
                  \(Program.name) worker -c 4 --allow exec
                  \(Program.name) enqueue --wait -- sh -c 'echo hello'
                  \(Program.name) list
                  \(Program.name) cancel --all

                Without --redis, SLUICE_REDIS_URL or REDIS_URL a private redis-server is started and shared by your commands.
                Exit status: \(Program.name) help exit-codes
                """,
            version: "sluice \(Program.version)",
            subcommands: [
                WorkerVerb.self, EnqueueVerb.self, CancelVerb.self, WaitVerb.self, ShowVerb.self, ResultVerb.self,
                LogsVerb.self, ListVerb.self, StatsVerb.self, RetryVerb.self, RemoveVerb.self, QueueGroup.self,
                WorkersGroup.self, EventsVerb.self, StatVerb.self, MonitorVerb.self, RedisGroup.self, ConfigGroup.self,
            ]
        )
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
