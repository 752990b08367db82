import ArgumentParser

/// One command: parsed by ArgumentParser, run by `SluiceMain`.
package protocol Verb: ParsableCommand, Sendable {
    var global: GlobalOptions { get }

    /// Checks the arguments before anything is done. (Not `validate`, whose errors ArgumentParser rewrites.)
    func check() throws

    /// Runs the command.
    ///
    /// - Returns: the exit status.
    /// - Throws: any error; `ErrorTranslation` converts it to a message and a status.
    func perform(_ invocation: Invocation) async throws -> ExitStatus
}

extension Verb {
    package func check() throws {}
}
