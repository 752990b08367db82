import BuiltinOperations
import Foundation
import Operations

extension ProgramEnvironment {
    /// Reads what was typed behind `--pass-env`.
    ///
    /// - Parameter texts: each has names with commas between them.
    /// - Throws: `.usage` for what is no name.
    init(typed texts: [String]) throws(CLIError) {
        let names = texts.flatMap { $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init) }
        for name in names where !Self.isPattern(name) {
            let variable = name.prefix { $0 != "=" }
            let fix = Self.isName(variable) ? String(variable) : "DATABASE_URL,'AWS_*'"
            throw .usage(
                "--pass-env: \(OperationsError.quoted(name)) is no name of a variable; its value comes from the worker's environment",
                fix: "--pass-env \(fix)"
            )
        }
        self.init(passing: names)
    }

    /// Names, not beginnings of names, that a worker was told to pass on and does not have.
    static func missing(
        _ texts: [String],
        in environment: [String: String] = ProcessInfo.processInfo.environment
    ) -> [String] {
        texts.flatMap { $0.split(separator: ",").map(String.init) }
            .filter { !$0.hasSuffix("*") && environment[$0] == nil }
    }
}
