/// The environment variables of the worker that programs get. All others may be secrets.
package struct ProgramEnvironment: Sendable, Equatable {
    /// The variables that each program gets if they are set.
    package static let standard = ["HOME", "LANG", "LC_*", "PATH", "TMPDIR", "TZ", "USER"]

    private let names: Set<String>
    private let prefixes: [String]
    private let added: [String: String]

    /// Makes a selection.
    ///
    /// - Parameters:
    ///   - patterns: names in addition to `standard`. A name with `*` at the end is a prefix.
    ///   - added: variables with values that do not come from this process's environment.
    package init(passing patterns: [String] = [], adding added: [String: String] = [:]) {
        self.added = added
        let all = Self.standard + patterns
        names = Set(all.filter { !$0.hasSuffix("*") })
        prefixes = all.filter { $0.hasSuffix("*") }.map { String($0.dropLast()) }
    }

    /// Whether a text is the name of a variable, or a prefix with a `*`.
    package static func isPattern(_ text: String) -> Bool {
        text == "*" || isName(text.hasSuffix("*") ? text.dropLast() : text[...])
    }

    /// Whether a text is a portable variable name.
    package static func isName(_ text: some StringProtocol) -> Bool {
        guard let first = text.utf8.first, !(48...57).contains(first) else { return false }
        return text.utf8.allSatisfy {
            $0 == UInt8(ascii: "_") || (48...57).contains($0) || (65...90).contains($0 & 0xdf)
        }
    }

    /// Returns the selected part of an environment, with the added variables.
    package func selected(from environment: [String: String]) -> [String: String] {
        environment.filter { variable in
            names.contains(variable.key) || prefixes.contains { variable.key.hasPrefix($0) }
        }.merging(added) { $1 }
    }
}
