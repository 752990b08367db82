import Foundation
import Operations
import RedisClient
import TerminalText

/// The running program, as messages and examples name it. A user's own binary has the same commands except
/// `dashboard`.
package enum Program {
    package static let version = SluiceDefaults.version

    package static let name: String = {
        let path = CommandLine.arguments.first ?? "sluice"
        let name = SafeText.line(path.split(separator: "/").last.map(String.init) ?? path)
        return name.isEmpty ? "sluice" : name
    }()

    /// The command line, quoted for a shell, with an option added. Passwords in URLs are hidden.
    package static func command(_ arguments: [String], adding option: String? = nil) -> String {
        let end = arguments.firstIndex(of: "--") ?? arguments.endIndex
        let words = arguments[..<end] + (option.map { [$0] } ?? []) + arguments[end...]
        return ([name] + words.map { ShellWords.quoted(URLPasswords.masked($0)) }).joined(separator: " ")
    }
}
