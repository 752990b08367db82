import Foundation
import Operations
import Selectors

/// The settings of `./.sluice.toml`, then the settings of a profile in `$XDG_CONFIG_HOME/sluice/config.toml`, then the
/// settings there outside of profiles.
package struct ConfigurationFiles: Sendable {
    package struct Value: Sendable, Equatable {
        package var text: String
        /// The file, with the profile if one applies: `~/.config/sluice/config.toml [profile.prod]`.
        package var origin: String
    }

    /// The source of a setting: a file, or a profile in a file.
    private struct Place {
        var file: String
        var profile: String?
        var isProject = false

        var origin: String { file + (profile.map { " [profile.\($0)]" } ?? "") }
    }

    /// The name of the file in the current folder.
    private static let project = ".sluice.toml"
    /// Settings that protect data: the strictest file wins.
    private static let protecting: Set<Key> = [.readOnly, .confirm]

    /// The profile in use; nil = none.
    package private(set) var profile: String?
    private var values: [Key: Value] = [:]

    package init() {}

    /// Reads the files.
    ///
    /// - Parameters:
    ///   - file: the file of `--config`, which must exist. nil = the user's file, which may be absent.
    ///   - profile: the profile of `--profile`.
    /// - Throws: `CLIError` with `.badConfiguration`.
    package init(file: String?, profile: String?, environment: [String: String]) throws(CLIError) {
        let named = file ?? environment["SLUICE_CONFIG"].flatMap { $0.isEmpty ? nil : $0 }
        let users = named ?? Self.path(environment)
        let project = try Self.read(Self.project, isNamed: false)
        try project?.checkSections(Self.project, ofProject: true)
        let user = try users.map { path throws(CLIError) in try Self.read(path, isNamed: named != nil) } ?? nil
        try user?.checkSections(users ?? "", ofProject: false)
        var shared = project?.sections[""]?.settings ?? [:]
        var own = user?.sections[""]?.settings ?? [:]
        let inFiles = [shared.removeValue(forKey: "profile"), own.removeValue(forKey: "profile")].map { $0?.text }
        self.profile = ([profile, environment["SLUICE_PROFILE"]] + inFiles).compactMap { $0 }.first { !$0.isEmpty }
        try add(shared, Place(file: Self.project, isProject: true))
        if let name = self.profile {
            try add(try Self.section(name, in: user, users), Place(file: users ?? "", profile: name))
        }
        try add(own, Place(file: users ?? ""))
    }

    /// The value of a key; nil if no file sets the key.
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
    ) throws(CLIError) -> [String: ConfigurationText.Setting] {
        if let section = text?.sections["profile." + name] { return section.settings }
        let known = (text?.sections.keys.map { $0 } ?? []).filter { $0.hasPrefix("profile.") }.map { $0.dropFirst(8) }
        let near = Suggestion.nearest(to: name, among: known.map(String.init)).map { "; did you mean \"\($0)\"?" } ?? ""
        throw CLIError(
            .badConfiguration,
            "no profile \(OperationsError.quoted(name))\(near)",
            notes: ["profiles of \(path ?? "the configuration file"): \(known.sorted().joined(separator: ", "))"],
            fix: "write [profile.\(name)] into \(path ?? "~/.config/sluice/config.toml")"
        )
    }

    /// Adds the values that no stronger file sets.
    private mutating func add(_ settings: [String: ConfigurationText.Setting], _ place: Place) throws(CLIError) {
        for (name, setting) in settings.sorted(by: { $0.value.line < $1.value.line }) {
            let line = "\(place.file):\(setting.line)"
            guard let key = Key(rawValue: name) else { throw Self.unknown(name, line) }
            let hasPassword = key == .redis && URLPasswords.masked(setting.text) != setting.text
            guard !place.isProject || (key.isForProjects && !hasPassword) else {
                throw CLIError(
                    .badConfiguration,
                    "\(line): \(name) \(hasPassword ? "has a password" : "is a secret"), which a shared file must not have",
                    fix: "write it into a profile of ~/.config/sluice/config.toml"
                )
            }
            let isStricter = Self.protecting.contains(key) && ["true", "always"].contains(setting.text)
            if values[key] == nil || isStricter { values[key] = Value(text: setting.text, origin: place.origin) }
        }
    }

    private static func unknown(_ name: String, _ line: String) -> CLIError {
        let known = Key.allCases.map(\.rawValue)
        let near = Suggestion.nearest(to: name, among: known).map { "; did you mean \"\($0)\"?" } ?? ""
        return CLIError(
            .badConfiguration,
            "\(line): unknown setting \(OperationsError.quoted(name))\(near)",
            fix: known.joined(separator: ", ")
        )
    }
}
