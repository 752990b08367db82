import BuiltinOperations
import Foundation
import Operations

extension ProgramEnvironment {
    /// Parses the values of `--pass-env`.
    ///
    /// - Parameters:
    ///   - texts: comma-separated names.
    ///   - added: variables with values that do not come from this process's environment.
    /// - Throws: `.usage` for a text that is not a name.
    init(typed texts: [String], adding added: [String: String] = [:]) throws(CLIError) {
        let names = texts.flatMap { $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init) }
        for name in names where !Self.isPattern(name) {
            let variable = name.prefix { $0 != "=" }
            let fix = Self.isName(variable) ? String(variable) : "DATABASE_URL,'AWS_*'"
            throw .usage(
                "--pass-env: \(OperationsError.quoted(name)) is not a variable name; the value comes from the worker's environment",
                fix: "--pass-env \(fix)"
            )
        }
        self.init(passing: names, adding: added)
    }

    /// The names to pass that are not set in the environment. Prefixes are not checked.
    static func missing(
        _ texts: [String],
        in environment: [String: String] = ProcessInfo.processInfo.environment
    ) -> [String] {
        texts.flatMap { $0.split(separator: ",").map(String.init) }
            .filter { !$0.hasSuffix("*") && environment[$0] == nil }
    }
}
