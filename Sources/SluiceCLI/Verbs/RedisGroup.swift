import ArgumentParser
import EmbeddedRedis
import Foundation
import Operations
import RedisBroker
import Sluice
import SluiceOperator

/// `redis status | start | stop | script`: the embedded server and the scripts.
package struct RedisGroup: ParsableCommand {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "redis",
            abstract: "Start, stop or show the embedded Redis.",
            discussion: """
                EXAMPLES
                  \(Program.name) redis status
                  \(Program.name) redis start
                  \(Program.name) redis stop

                Commands without a Redis URL share a private redis-server on a unix socket in your state folder. The first command that \
                needs it starts it, and it runs until it is stopped. Its data is kept in an append-only file.
                """,
            subcommands: [RedisStatusVerb.self, RedisStartVerb.self, RedisStopVerb.self, RedisScriptVerb.self]
        )
    }

    package init() {}
}

package struct RedisStatusVerb: Verb {
    package static let formats: Set<OutputFormat> = .json
    package static let effect = VerbEffect.reads

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "status",
            abstract: "Show whether the server runs, and where. Exit status 3 if it does not run.",
            discussion: """
                EXAMPLES
                  \(Program.name) redis status
                  \(Program.name) redis status -o json
                """
        )
    }

    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        let server = Connector.embeddedRedis(invocation.settings)
        let status = try server.status()
        EmbeddedReport.print(status, server, invocation)
        return status == nil ? .notFound : .done
    }
}

package struct RedisStartVerb: Verb {
    package static let formats: Set<OutputFormat> = .json
    package static let effect = VerbEffect.adds

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "start",
            abstract: "Start the server if it does not run.",
            discussion: """
                EXAMPLES
                  \(Program.name) redis start
                """
        )
    }

    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        let server = Connector.embeddedRedis(invocation.settings)
        EmbeddedReport.print(try await SluiceClient.startedServer(server), server, invocation)
        return .done
    }
}

package struct RedisStopVerb: Verb {
    package static let formats: Set<OutputFormat> = .json
    package static let effect = VerbEffect.changes

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "stop",
            abstract: "Stop the server; its data stays.",
            discussion: """
                EXAMPLES
                  \(Program.name) redis stop

                If others are connected, such as workers, stop says how many and asks. Without a terminal it then needs -y.
                """
        )
    }

    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        let server = Connector.embeddedRedis(invocation.settings)
        let users = try await EmbeddedUsers(server, invocation)
        try invocation.beginChange(asking: users.isEmpty ? "stop the embedded Redis" : nil)
        if !users.isEmpty { try invocation.confirm("stop the embedded Redis, \(users.text)?", count: 1) }
        let stopped = try server.stop()
        if invocation.format.isJSON {
            EmbeddedReport.print(nil, server, invocation)
        } else {
            invocation.console.print(stopped ? "stopped; its data stays in \(server.directory)" : "it did not run")
        }
        return .done
    }
}

package struct RedisScriptVerb: Verb {
    package static let formats: Set<OutputFormat> = .textOnly
    package static let effect = VerbEffect.reads

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "script",
            abstract: "Print a script as it is sent to Redis, or the list of all.",
            discussion: """
                EXAMPLES
                  \(Program.name) redis script            all scripts with their roles, keys and commands
                  \(Program.name) redis script enqueue    for producers in other languages

                docs/wire-format.md says how to call it.
                """
        )
    }

    @Argument(help: "Name of a script.")
    var name: String?
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        guard let name else {
            invocation.console.print(RedisBroker.scriptTable)
            return .done
        }
        guard let source = RedisBroker.scriptSource(named: name) else {
            throw CLIError(
                .notFound,
                "no script \(OperationsError.quoted(name))",
                fix: RedisBroker.scriptNames.sorted().joined(separator: ", ")
            )
        }
        invocation.console.print(source)
        return .done
    }
}

private enum EmbeddedReport {
    static func print(_ status: EmbeddedRedis.Status?, _ server: EmbeddedRedis, _ invocation: Invocation) {
        let console = invocation.console
        guard !invocation.format.isJSON else { return console.print(json(status, server), invocation.format) }
        guard let status else { return console.print("not running; socket \(server.socketPath)") }
        console.print("running: Redis \(status.version), pid \(status.pid)")
        console.print("  url   \(server.endpoint)")
        console.print("  data  \(server.directory)")
    }

    private static func json(_ status: EmbeddedRedis.Status?, _ server: EmbeddedRedis) -> JSONValue {
        [
            "v": 1,
            "running": .bool(status != nil),
            "pid": JSONValue(status.map { Int($0.pid) }),
            "version": JSONValue(status?.version),
            "url": .string(server.endpoint.description),
            "directory": .string(server.directory),
        ]
    }
}
