import EmbeddedRedis
import Operations
import TerminalText

/// The settings of this command, followed by all defaults and limits of Sluice.
struct SettingsTable {
    struct Entry {
        var name: String
        var value: String
        /// Every place that can set the value, the strongest first: options, environment variables, settings in a file.
        var places: String
        var origin: String

        var json: JSONValue {
            ["value": .string(value), "setWith": .string(places), "origin": .string(origin)]
        }
    }

    let entries: [Entry]

    init(_ settings: Settings) {
        let defaults = Self.defaults.map { Entry(name: $0, value: $1, places: $2, origin: "default") }
        entries = Self.settings(settings) + defaults
    }

    private static func settings(_ settings: Settings) -> [Entry] {
        let redis = settings.redis.map { $0?.description ?? "\(EmbeddedRedis().endpoint) (embedded)" }
        return [
            entry("redis", redis, .redis, .passwordFile) { $0 },
            entry("namespace", settings.namespace, .namespace) { $0 },
            Entry(
                name: "profile",
                value: settings.profile ?? "none",
                places: "--profile, SLUICE_PROFILE, profile in a file",
                origin: settings.profile == nil ? "default" : "profile"
            ),
            entry("confirm", settings.confirmsAlways, .confirm) { $0 ? "always" : "bulk" },
            entry("connect-timeout", settings.connectTimeout, .connectTimeout) { DurationText.exact($0) },
            entry("output", settings.output, .output, text: \.rawValue),
            entry("time", settings.time, .time, text: \.rawValue),
            entry("read-only", settings.readOnly, .readOnly) { "\($0)" },
            entry("no-input", settings.noInput, .noInput) { "\($0)" },
            entry("keys", settings.keys, .keysFile) { $0?.description ?? "none" },
            entry("redact", settings.redaction, .redact, .hideArgs) { $0.description },
        ]
    }

    private static func entry<Content>(
        _ name: String,
        _ value: Settings.Value<Content>,
        _ keys: ConfigurationFiles.Key...,
        text: (Content) -> String
    ) -> Entry {
        let places = keys.map(\.places).joined(separator: ", ")
        return Entry(name: name, value: text(value.content), places: places, origin: "\(value.origin)")
    }

    /// A name, a value, and the place that can change the value.
    private typealias Default = (String, String, String)

    private static let fixed = "fixed"

    private static var defaults: [Default] {
        let attempts: [Default] = [
            ("attempts", "\(SluiceDefaults.attempts)", "enqueue --attempts"),
            ("backoff", DurationText.exact(SluiceDefaults.backoffBase), "RetryPolicy in Swift"),
            ("backoff-max", DurationText.exact(SluiceDefaults.backoffCeiling), "RetryPolicy in Swift"),
            ("backoff-jitter", "\(SluiceDefaults.backoffJitter)", fixed),
            ("external-run-timeout", DurationText.exact(SluiceDefaults.externalRunTimeout), "enqueue --run-timeout"),
        ]
        return worker + attempts + limits.map { ($0, $1, fixed) } + retention.map { ($0, $1, fixed) }
    }

    private static var worker: [Default] {
        [
            ("queue", SluiceDefaults.queue, "-q"), ("slots", "\(SluiceDefaults.slots)", "worker --slots"),
            ("drain-timeout", DurationText.exact(SluiceDefaults.drainTimeout), "worker --drain-timeout"),
            ("cancel-grace", DurationText.exact(SluiceDefaults.cancelGrace), "worker --cancel-grace"),
            ("outage-grace", DurationText.exact(SluiceDefaults.outageGrace), "worker --outage-grace"),
            ("lease", DurationText.exact(SluiceDefaults.lease), "WorkerConfiguration in Swift"),
            ("beats-per-lease", "\(SluiceDefaults.beatsPerLease)", fixed),
            ("max-deliveries", "\(SluiceDefaults.maxDeliveries)", fixed),
        ]
    }

    private static var limits: [(String, String)] {
        [
            ("unknown-name-delay", DurationText.exact(SluiceDefaults.unknownNameDelay)),
            ("unhandled-names", "\(SluiceDefaults.unhandledNames)"),
            ("operation-bytes", "\(SluiceDefaults.operationBytes)"), ("result-bytes", "\(SluiceDefaults.resultBytes)"),
            ("error-bytes", "\(SluiceDefaults.errorBytes)"), ("errors-kept", "\(SluiceDefaults.errorsKept)"),
            ("tags", "\(SluiceDefaults.tags)"), ("tag-bytes", "\(SluiceDefaults.tagBytes)"),
            ("headers", "\(SluiceDefaults.headers)"), ("header-bytes", "\(SluiceDefaults.headerBytes)"),
            ("headers-bytes", "\(SluiceDefaults.headersBytes)"),
            ("log-lines", "\(SluiceDefaults.logLines)"), ("log-bytes", "\(SluiceDefaults.logBytes)"),
            ("log-line-bytes", "\(SluiceDefaults.logLineBytes)"), ("json-depth", "\(SluiceDefaults.jsonDepth)"),
            ("report-interval", DurationText.exact(SluiceDefaults.reportInterval)),
            ("batch", "\(SluiceDefaults.batch)"),
        ]
    }

    private static var retention: [(String, String)] {
        SluiceDefaults.retention.sorted { $0.key.rawValue < $1.key.rawValue }.map { state, limit in
            let age = DurationText.exact(.milliseconds(limit.ageMilliseconds))
            return ("retention-\(state.rawValue)", "\(age), \(QuantityText.grouped(limit.count)) a queue")
        }
    }
}
