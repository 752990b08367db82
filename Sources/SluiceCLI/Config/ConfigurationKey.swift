import OperationKeys

extension ConfigurationFiles {
    /// A setting that a file may have.
    package enum Key: String, CaseIterable, Sendable {
        case redis, namespace, output, time, confirm, redact
        case connectTimeout = "connect_timeout"
        case readOnly = "read_only"
        case noInput = "no_input"
        case hideArgs = "hide_args"
        case keysFile = "keys_file"
        case passwordFile = "password_file"

        /// Whether a project's file may set the key. Projects share that file, so it has no secrets.
        var isForProjects: Bool { self != .keysFile && self != .passwordFile }

        /// The command-line option that sets the key; nil = none.
        package var option: String? {
            switch self {
            case .confirm, .passwordFile: nil
            default: "--" + rawValue.replacing("_", with: "-")
            }
        }

        /// The environment variables that set the key, the strongest first.
        package var variables: [String] {
            switch self {
            case .redis: ["SLUICE_REDIS_URL", "REDIS_URL"]
            case .keysFile: [OperationKeys.fileVariable, OperationKeys.variable]
            case .passwordFile: []
            default: ["SLUICE_" + rawValue.uppercased()]
            }
        }

        /// Every place that can set the key, the strongest first: `--time, SLUICE_TIME, time in a file`.
        package var places: String {
            ((option.map { [$0] } ?? []) + variables + ["\(rawValue) in a file"]).joined(separator: ", ")
        }
    }
}
