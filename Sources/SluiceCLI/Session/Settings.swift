import Foundation
import OperationKeys
import Operations
import RedisClient
import SluiceOperator
import TerminalText

/// The settings of a command. Each comes from an option, the environment, a configuration file or a default, in this
/// order.
package struct Settings: Sendable {
    package enum Origin: Sendable, Equatable, CustomStringConvertible {
        case flag(String)
        case environment(String)
        /// The file, with the profile if one applies.
        case file(String)
        case builtIn

        package var description: String {
            switch self {
            case .flag(let name): name + " on the command line"
            case .environment(let name): name + " in the environment"
            case .file(let name): name
            case .builtIn: "default"
            }
        }
    }

    package struct Value<Content: Sendable>: Sendable {
        package var content: Content
        package var origin: Origin

        func map<Other>(_ body: (Content) -> Other) -> Value<Other> {
            Value<Other>(content: body(content), origin: origin)
        }
    }

    /// The endpoint; nil = the embedded server.
    package var redis: Value<RedisEndpoint?>
    /// The URL of the endpoint, with its password; nil = the embedded server.
    var redisURL: String?
    package var namespace: Value<String>
    package var connectTimeout: Value<Duration>
    package var output: Value<OutputFormat>
    package var time: Value<TimeStyle>
    package var readOnly: Value<Bool>
    package var noInput: Value<Bool>
    /// The keys; nil = operations are neither signed nor encrypted.
    package var keys: Value<OperationKeys?>
    package var redaction: Value<Redaction>
    /// Whether changes of named operations need a confirmation as well.
    package var confirmsAlways: Value<Bool>
    /// The profile in use; nil = none.
    package var profile: String?

    package init(_ options: GlobalOptions, environment: [String: String]) throws(CLIError) {
        let files = try ConfigurationFiles(file: options.config, profile: options.profile, environment: environment)
        let source = Source(environment: environment, files: files)
        profile = files.profile
        confirmsAlways = try source.value(nil, .confirm, false) {
            ["always": true, "bulk": false][$0]
        }
        (redis, redisURL) = try source.redis(options.redis)
        namespace = try source.value(options.namespace, .namespace, SluiceDefaults.namespace) {
            NameRule.allows($0) ? $0 : nil
        }
        connectTimeout = try source.value(options.connectTimeout, .connectTimeout, .seconds(2)) {
            try? DurationText.parse($0)
        }
        do { try TimeLimit.check(connectTimeout.content, "the connect timeout") } catch {
            let isFlag = connectTimeout.origin == .flag("--connect-timeout")
            throw CLIError(
                isFlag ? .usage : .badConfiguration,
                error.message,
                notes: ["from: \(connectTimeout.origin)"],
                fix: isFlag ? "--connect-timeout 2s" : "SLUICE_CONNECT_TIMEOUT=2s"
            )
        }
        output = try source.value(options.output, .output, .table) {
            OutputFormat(rawValue: $0)
        }
        time = try source.value(options.time, .time, .relative) { TimeStyle(rawValue: $0) }
        readOnly = try source.flag(options.readOnly, .readOnly)
        noInput = try source.flag(options.noInput, .noInput)
        keys = try source.keys(options.keysFile)
        let hiding = try source.flag(options.hideArgs, .hideArgs)
        let hidesAll = hiding.content
        redaction = try source.value(options.redact, .redact, "") { text in
            (try? Redaction(parsing: text, hidesAll: hidesAll)).map { _ in text }
        }.map { (try? Redaction(parsing: $0, hidesAll: hidesAll)) ?? .none }
        if hidesAll { redaction.origin = hiding.origin }
    }

    /// The sources of settings.
    private struct Source {
        let environment: [String: String]
        let files: ConfigurationFiles

        /// Reads the endpoint and its URL.
        func redis(_ flag: String?) throws(CLIError) -> (Value<RedisEndpoint?>, url: String?) {
            if let flag { return (try endpoint(flag, .flag("--redis")), flag) }
            for name in ConfigurationFiles.Key.redis.variables {
                // A variable with the content of a file may end with a newline.
                let url = environment[name]?.trimmingCharacters(in: .whitespacesAndNewlines) ?? ""
                if !url.isEmpty { return (try endpoint(url, .environment(name)), url) }
            }
            guard let file = files[.redis] else { return (Value(content: nil, origin: .builtIn), nil) }
            var found = try endpoint(file.text, .file(file.origin))
            // The password goes only to a server of the same section, since a project's file may name another server.
            guard let secret = files[.passwordFile], secret.origin == file.origin else { return (found, file.text) }
            let password = try password(secret)
            found.content?.password = password
            return (found, RedisEndpoint.url(file.text, withPassword: password))
        }

        /// Reads a file that contains only the password.
        private func password(_ file: ConfigurationFiles.Value) throws(CLIError) -> String {
            guard let text = try? String(contentsOfFile: file.text, encoding: .utf8) else {
                throw CLIError(
                    .badConfiguration,
                    "the password file \(OperationsError.quoted(file.text)) cannot be read",
                    notes: ["from: \(file.origin)"],
                    fix: "password_file = \"/path/to/file\", readable for this user"
                )
            }
            return text.trimmingCharacters(in: .whitespacesAndNewlines)
        }

        /// Reads the keys. A file on the command line overrides the environment.
        func keys(_ flag: String?) throws(CLIError) -> Value<OperationKeys?> {
            let inEnvironment = ConfigurationFiles.Key.keysFile.variables.first {
                environment[$0].map { !$0.isEmpty } ?? false
            }
            let file = flag == nil && inEnvironment == nil ? files[.keysFile] : nil
            let origin =
                flag != nil
                ? .flag("--keys-file")
                : inEnvironment.map { Origin.environment($0) } ?? file.map { .file($0.origin) } ?? .builtIn
            do {
                if let flag = flag ?? file?.text {
                    return Value(content: try OperationKeys(contentsOfFile: flag), origin: origin)
                }
                return Value(content: try OperationKeys.fromEnvironment(environment), origin: origin)
            } catch {
                throw CLIError(
                    .badConfiguration,
                    error.message,
                    notes: ["from: \(origin)"],
                    fix: "\(Program.name) config keys FILE (makes a new file), or chmod 600 FILE"
                )
            }
        }

        private func endpoint(_ url: String, _ origin: Origin) throws(CLIError) -> Value<RedisEndpoint?> {
            do { return Value(content: try RedisEndpoint(url: url), origin: origin) } catch {
                throw CLIError(
                    origin == .flag("--redis") ? .usage : .badConfiguration,
                    error.message,
                    notes: ["from: \(origin)"],
                    fix: "redis://localhost:6379/0, rediss://user:password@host/0, unix:///path/to/socket, "
                        + "redis+sentinel://h1,h2,h3/mymaster or redis+cluster://h1,h2,h3"
                )
            }
        }

        func value<Content>(
            _ flag: Content?,
            _ key: ConfigurationFiles.Key,
            _ builtIn: Content,
            parse: (String) -> Content?
        ) throws(CLIError) -> Value<Content> {
            if let flag, let option = key.option {
                // Options that are plain texts are checked as environment variables are.
                if let text = flag as? String, parse(text) == nil { throw wrong(text, key, option, .usage) }
                return Value(content: flag, origin: .flag(option))
            }
            guard let name = key.variables.first, let text = environment[name], !text.isEmpty else {
                guard let file = files[key] else { return Value(content: builtIn, origin: .builtIn) }
                guard let content = parse(file.text) else {
                    throw CLIError(
                        .badConfiguration,
                        "\(key.rawValue) is \(OperationsError.quoted(file.text)), which is not a valid value",
                        notes: ["from: \(file.origin)"],
                        fix: Self.expected(key, key.rawValue)
                    )
                }
                return Value(content: content, origin: .file(file.origin))
            }
            guard let content = parse(text) else { throw wrong(text, key, name, .badConfiguration) }
            return Value(content: content, origin: .environment(name))
        }

        func flag(
            _ flag: Bool,
            _ key: ConfigurationFiles.Key
        ) throws(CLIError) -> Value<Bool> {
            try value(flag ? true : nil, key, false) {
                switch $0.lowercased() {
                case "1", "true", "yes", "on": true
                case "0", "false", "no", "off": false
                default: nil
                }
            }
        }

        private func wrong(
            _ text: String,
            _ key: ConfigurationFiles.Key,
            _ name: String,
            _ status: ExitStatus
        ) -> CLIError {
            CLIError(
                status,
                "\(name) is \(OperationsError.quoted(text)), which is not a valid value",
                fix: Self.expected(key, name)
            )
        }

        /// The expected values of a setting.
        ///
        /// - Parameter name: the name of the option, of the variable, or of the key in a file.
        private static func expected(_ key: ConfigurationFiles.Key, _ name: String) -> String {
            switch key {
            case .namespace: "\(name) with 1 to 128 letters, digits, '.', '_' or '-'"
            case .connectTimeout: "\(name)=2s"
            case .output: "\(name)=table, wide, json, jsonl, csv or id"
            case .redact: "\(name) args.password,args.*.token,result.key"
            case .confirm: "\(name)=always or bulk"
            case .time: "\(name)=relative, iso or unix"
            default: "\(name)=1 or 0"
            }
        }
    }
}
