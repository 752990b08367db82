import ArgumentParser
import Operations
import Sluice
import SluiceOperator
import TerminalText

/// `config show | acl | keys`
package struct ConfigGroup: ParsableCommand {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "config",
            abstract: "Show settings, defaults and access rules; make keys.",
            discussion: """
                EXAMPLES
                  \(Program.name) config show --origin          each value, where it can be set, and where it comes from
                  \(Program.name) config acl -N shop            lines of an ACL file for Redis, with minimal permissions
                  \(Program.name) config keys sluice.keys       a new file with a key that signs operations
                """,
            subcommands: [ConfigShowVerb.self, ConfigACLVerb.self, ConfigKeysVerb.self]
        )
    }

    package init() {}
}

package struct ConfigShowVerb: Verb {
    package static let formats: Set<OutputFormat> = .jsonAndCSV
    package static let effect = VerbEffect.reads

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "show",
            abstract:
                "Show settings, defaults and limits, and where each can be set; --origin shows where it comes from.",
            discussion: """
                EXAMPLES
                  \(Program.name) config show --origin
                  \(Program.name) config show --profile prod --origin
                  SLUICE_REDIS_URL=redis://10.0.0.5/0 \(Program.name) config show

                SET WITH names the option, the environment variable and the line of a file that set a value, the strongest first; \
                a fixed value cannot be changed.

                Files: ./.sluice.toml (shared by a project, so without passwords, keys and profiles; it may choose one), then \
                $XDG_CONFIG_HOME/sluice/config.toml, which is ~/.config/sluice/config.toml without that variable:
                  profile = "dev"
                  [profile.prod]
                  redis = "rediss://10.0.0.5/0"
                  password_file = "/home/ann/.sluice-prod"
                  confirm = "always"
                Settings: redis, password_file, namespace, keys_file, output, time, connect_timeout, no_input, hide_args, redact, \
                read_only, and confirm ("always": changes of named operations are confirmed, too). Of read_only and confirm the \
                strictest file counts. The password of password_file goes only to the redis of the same section.

                An option has precedence over the environment, the environment over the files, and these over the default. \
                Set SLUICE_KEYS_FILE or SLUICE_KEYS, not both. SLUICE_PROFILE and SLUICE_CONFIG stand for --profile and --config. \
                Passwords and keys are not shown.
                """
        )
    }

    @Flag(help: "Show where each value comes from.")
    var origin = false
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        let entries = SettingsTable(invocation.settings).entries
        let console = invocation.console
        if invocation.format.isJSON {
            let settings = entries.map { ($0.name, $0.json) }
            console.print(["v": 1, "settings": .object(JSONObject(settings))], invocation.format)
            return .done
        }
        let titles = ["SETTING", "VALUE", "SET WITH"] + (origin ? ["FROM"] : [])
        var table = Table(titles.map { TableColumn($0) })
        for entry in entries {
            table.append(
                ([entry.name, entry.value, entry.places] + (origin ? [entry.origin] : [])).map { TableCell($0) }
            )
        }
        console.print(table, invocation.format, showsHeader: invocation.options.showsHeader)
        return .done
    }
}
