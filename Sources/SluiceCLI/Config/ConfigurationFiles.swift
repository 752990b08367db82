import Foundation
import Operations
import Selectors

/// The settings of `./.sluice.toml`, then those of a profile in `$XDG_CONFIG_HOME/sluice/config.toml`.
package struct ConfigurationFiles: Sendable {
    package enum Key: String, CaseIterable, Sendable {
        case redis, namespace, output, time, confirm, redact
        case connectTimeout = "connect_timeout"
        case readOnly = "read_only"
        case noInput = "no_input"
        case hideArgs = "hide_args"
        case keysFile = "keys_file"
        case passwordFile = "password_file"

        /// Whether the file of a project may have it: such a file is shared, so it has no secrets.
        fileprivate var isForProjects: Bool { self != .keysFile && self != .passwordFile }
    }

    package struct Value: Sendable, Equatable {
        package var text: String
        /// The file, and the profile in it: `~/.config/sluice/config.toml [profile.prod]`.
        package var origin: String
    }

    /// The name of the file in the current folder.
    private static let project = ".sluice.toml"
    /// These protect data: the strictest file counts.
    private static let protecting: Set<Key> = [.readOnly, .confirm]

    /// The profile in use; nil = none.
    package private(set) var profile: String?
    private var values: [Key: Value] = [:]

    package init() {}

    /// Reads the files.
    ///
    /// - Parameters:
    ///   - file: of `--config`; it must exist. nil = the user's file, if there is one.
    ///   - profile: of `--profile`.
    /// - Throws: `CLIError` with `.badConfiguration`.
    package init(file: String?, profile: String?, environment: [String: String]) throws(CLIError) {
        let named = file ?? environment["SLUICE_CONFIG"].flatMap { $0.isEmpty ? nil : $0 }
        let users = named ?? Self.path(environment)
        let project = try Self.read(Self.project, isNamed: false)
        let user = try users.map { path throws(CLIError) in try Self.read(path, isNamed: named != nil) } ?? nil
        var shared = project?.sections[""] ?? [:]
        var own = user?.sections[""] ?? [:]
        let chosen = [profile, environment["SLUICE_PROFILE"], shared.removeValue(forKey: "profile"), own["profile"]]
        own["profile"] = nil
        self.profile = chosen.compactMap { $0 }.first { !$0.isEmpty }
        try add(shared, Self.project, isProject: true)
        if let name = self.profile {
            try add(try Self.section(name, in: user, users), "\(users ?? "") [profile.\(name)]", isProject: false)
        }
        try add(own, users ?? "", isProject: false)
    }

    /// The value of a key; nil = no file has it.
    package subscript(key: Key) -> Value? { values[key] }

    private static func path(_ environment: [String: String]) -> String? {
        if let folder = environment["XDG_CONFIG_HOME"], !folder.isEmpty { return folder + "/sluice/config.toml" }
        return environment["HOME"].map { $0 + "/.config/sluice/config.toml" }
    }

    private static func read(_ path: String, isNamed: Bool) throws(CLIError) -> ConfigurationText? {
        guard let data = FileManager.default.contents(atPath: path) else {
            guard isNamed || FileManager.default.fileExists(atPath: path) else { return nil }
            throw CLIError(.badConfiguration, "the configuration file \(path) cannot be read", fix: "ls -l \(path)")
        }
        return try ConfigurationText(parsing: String(decoding: data, as: UTF8.self), file: path)
    }

    private static func section(
        _ name: String,
        in text: ConfigurationText?,
        _ path: String?
    ) throws(CLIError) -> [String: String] {
        if let section = text?.sections["profile." + name] { return section }
        let known = (text?.sections.keys.map { $0 } ?? []).filter { $0.hasPrefix("profile.") }.map { $0.dropFirst(8) }
        let near = Suggestion.nearest(to: name, among: known.map(String.init)).map { "; did you mean \"\($0)\"?" } ?? ""
        throw CLIError(
            .badConfiguration,
            "no profile \(OperationsError.quoted(name))\(near)",
            notes: ["profiles of \(path ?? "the configuration file"): \(known.sorted().joined(separator: ", "))"],
            fix: "write [profile.\(name)] into \(path ?? "~/.config/sluice/config.toml")"
        )
    }

    /// Adds values that no stronger file has.
    private mutating func add(_ section: [String: String], _ origin: String, isProject: Bool) throws(CLIError) {
        for (name, text) in section.sorted(by: { $0.key < $1.key }) {
            guard let key = Key(rawValue: name) else { throw Self.unknown(name, origin) }
            let hasPassword = key == .redis && URLPasswords.masked(text) != text
            guard !isProject || (key.isForProjects && !hasPassword) else {
                throw CLIError(
                    .badConfiguration,
                    "\(origin): \(name) \(hasPassword ? "has a password" : "is a secret"), which a shared file must not have",
                    fix: "write it into a profile of ~/.config/sluice/config.toml"
                )
            }
            let isStricter = Self.protecting.contains(key) && ["true", "always"].contains(text)
            if values[key] == nil || isStricter { values[key] = Value(text: text, origin: origin) }
        }
    }

    private static func unknown(_ name: String, _ origin: String) -> CLIError {
        let known = Key.allCases.map(\.rawValue)
        let near = Suggestion.nearest(to: name, among: known).map { "; did you mean \"\($0)\"?" } ?? ""
        return CLIError(
            .badConfiguration,
            "\(origin): unknown setting \(OperationsError.quoted(name))\(near)",
            fix: known.joined(separator: ", ")
        )
    }
}
