import ArgumentParser
import EmbeddedRedis
import Operations
import Sluice
import TerminalText

/// `config show | acl | keys`
package struct ConfigGroup: ParsableCommand {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "config",
            abstract: "Show settings, defaults and access rules; make keys.",
            subcommands: [ConfigShowVerb.self, ConfigACLVerb.self, ConfigKeysVerb.self]
        )
    }

    package init() {}
}

package struct ConfigShowVerb: Verb {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "show",
            abstract: "Show all settings and defaults; --origin shows where each comes from.",
            discussion: """
                EXAMPLES
                  \(Program.name) config show --origin
                  \(Program.name) config show --profile prod --origin
                  SLUICE_REDIS_URL=redis://10.0.0.5/0 \(Program.name) config show

                Files: ./.sluice.toml (shared by a project, so without passwords and keys), then \
                $XDG_CONFIG_HOME/sluice/config.toml, which is ~/.config/sluice/config.toml without that variable:
                  profile = "dev"
                  [profile.prod]
                  redis = "rediss://10.0.0.5/0"
                  password_file = "/home/ann/.sluice-prod"
                  confirm = "always"
                Settings: redis, password_file, namespace, keys_file, output, time, connect_timeout, no_input, hide_args, redact, \
                read_only, and confirm ("always": changes of named operations are confirmed, too). Of read_only and confirm the \
                strictest file counts. The password of password_file goes only to the redis of the same section.

                A flag has precedence over the environment (SLUICE_REDIS_URL, REDIS_URL, SLUICE_NAMESPACE, SLUICE_OUTPUT, SLUICE_TIME, \
                SLUICE_CONNECT_TIMEOUT, SLUICE_READ_ONLY, SLUICE_NO_INPUT, SLUICE_KEYS_FILE, SLUICE_KEYS, SLUICE_REDACT, \
                SLUICE_HIDE_ARGS, SLUICE_CONFIRM, SLUICE_PROFILE, SLUICE_CONFIG), the environment over the files, and these over the \
                default. Set SLUICE_KEYS_FILE or SLUICE_KEYS, not both. Passwords and keys are not shown.
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
            let settings = entries.map {
                ($0.name, JSONValue.object(JSONObject([("value", .string($0.value)), ("origin", .string($0.origin))])))
            }
            console.print(["v": 1, "settings": .object(JSONObject(settings))], invocation.format)
            return .done
        }
        var table = Table([TableColumn("SETTING"), TableColumn("VALUE")] + (origin ? [TableColumn("FROM")] : []))
        for entry in entries {
            table.append(([entry.name, entry.value] + (origin ? [entry.origin] : [])).map { TableCell($0) })
        }
        console.print(table, invocation.format, showsHeader: invocation.options.showsHeader)
        return .done
    }
}

/// The settings of this command, then all defaults and limits of Sluice.
struct SettingsTable {
    struct Entry {
        var name: String
        var value: String
        var origin: String
    }

    let entries: [Entry]

    init(_ settings: Settings) {
        entries = Self.settings(settings) + Self.defaults.map { Entry(name: $0.0, value: $0.1, origin: "default") }
    }

    private static func settings(_ settings: Settings) -> [Entry] {
        let redis = settings.redis.content?.description ?? "\(EmbeddedRedis().endpoint) (embedded)"
        return [
            Entry(name: "redis", value: redis, origin: "\(settings.redis.origin)"),
            entry("namespace", settings.namespace) { $0 },
            Entry(
                name: "profile",
                value: settings.profile ?? "none",
                origin: settings.profile == nil ? "default" : "profile"
            ),
            entry("confirm", settings.confirmsAlways) { $0 ? "always" : "bulk" },
            entry("connect-timeout", settings.connectTimeout, DurationText.exact),
            entry("output", settings.output, \.rawValue),
            entry("time", settings.time, \.rawValue),
            entry("read-only", settings.readOnly) { "\($0)" },
            entry("no-input", settings.noInput) { "\($0)" },
            entry("keys", settings.keys) { $0?.description ?? "none" },
            entry("redact", settings.redaction) { $0.description },
        ]
    }

    private static func entry<Content>(
        _ name: String,
        _ value: Settings.Value<Content>,
        _ text: (Content) -> String
    ) -> Entry {
        Entry(name: name, value: text(value.content), origin: "\(value.origin)")
    }

    private static var defaults: [(String, String)] {
        [
            ("queue", Defaults.queue), ("slots", "\(Defaults.slots)"),
            ("lease", DurationText.exact(Defaults.lease)), ("beats-per-lease", "\(Defaults.beatsPerLease)"),
            ("max-deliveries", "\(Defaults.maxDeliveries)"),
            ("outage-grace", DurationText.exact(Defaults.outageGrace)),
            ("attempts", "\(Defaults.attempts)"), ("backoff", DurationText.exact(Defaults.backoffBase)),
            ("backoff-max", DurationText.exact(Defaults.backoffCeiling)),
            ("backoff-jitter", "\(Defaults.backoffJitter)"),
            ("unknown-name-delay", DurationText.exact(Defaults.unknownNameDelay)),
            ("unhandled-names", "\(Defaults.unhandledNames)"),
            ("cancel-grace", DurationText.exact(Defaults.cancelGrace)),
            ("drain-timeout", DurationText.exact(Defaults.drainTimeout)),
            ("external-run-timeout", DurationText.exact(Defaults.externalRunTimeout)),
            ("operation-bytes", "\(Defaults.operationBytes)"), ("result-bytes", "\(Defaults.resultBytes)"),
            ("error-bytes", "\(Defaults.errorBytes)"), ("errors-kept", "\(Defaults.errorsKept)"),
            ("tags", "\(Defaults.tags)"), ("tag-bytes", "\(Defaults.tagBytes)"),
            ("headers", "\(Defaults.headers)"), ("header-bytes", "\(Defaults.headerBytes)"),
            ("headers-bytes", "\(Defaults.headersBytes)"),
            ("log-lines", "\(Defaults.logLines)"), ("log-bytes", "\(Defaults.logBytes)"),
            ("log-line-bytes", "\(Defaults.logLineBytes)"), ("json-depth", "\(Defaults.jsonDepth)"),
            ("report-interval", DurationText.exact(Defaults.reportInterval)), ("batch", "\(Defaults.batch)"),
        ] + retention
    }

    private static var retention: [(String, String)] {
        Defaults.retention.sorted { $0.key.rawValue < $1.key.rawValue }.map { state, limit in
            let age = DurationText.exact(.milliseconds(limit.ageMilliseconds))
            return ("retention-\(state.rawValue)", "\(age), \(QuantityText.grouped(limit.count)) a queue")
        }
    }
}
