/// Which of the worker's own environment variables its programs get. They may be secrets, so that is a choice.
package struct ProgramEnvironment: Sendable, Equatable {
    /// What every program gets, if the worker has it.
    package static let standard = ["HOME", "LANG", "LC_*", "PATH", "TMPDIR", "TZ", "USER"]

    private let names: Set<String>
    private let prefixes: [String]

    /// Makes a choice.
    ///
    /// - Parameter patterns: names beside `standard`, each for itself or, with a `*` at its end, for all that begin so.
    package init(passing patterns: [String] = []) {
        let all = Self.standard + patterns
        names = Set(all.filter { !$0.hasSuffix("*") })
        prefixes = all.filter { $0.hasSuffix("*") }.map { String($0.dropLast()) }
    }

    /// Whether a text is a name of a variable, or the beginning of one and a `*`.
    package static func isPattern(_ text: String) -> Bool {
        text == "*" || isName(text.hasSuffix("*") ? text.dropLast() : text[...])
    }

    /// Whether a text is a portable name of a variable.
    package static func isName(_ text: some StringProtocol) -> Bool {
        guard let first = text.utf8.first, !(48...57).contains(first) else { return false }
        return text.utf8.allSatisfy {
            $0 == UInt8(ascii: "_") || (48...57).contains($0) || (65...90).contains($0 & 0xdf)
        }
    }

    /// The part of an environment that programs get.
    package func selected(from environment: [String: String]) -> [String: String] {
        environment.filter { variable in
            names.contains(variable.key) || prefixes.contains { variable.key.hasPrefix($0) }
        }
    }
}
