import ArgumentParser

/// One command: parsed by ArgumentParser, run by `SluiceMain`.
package protocol Verb: ParsableCommand, Sendable {
    var global: GlobalOptions { get }

    /// Finds what is wrong with the arguments, before anything is done. (What `validate` throws, ArgumentParser rewrites.)
    func check() throws

    /// Does it.
    ///
    /// - Returns: the status to exit with.
    /// - Throws: whatever went wrong; `ErrorTranslation` makes a message and a status of it.
    func perform(_ invocation: Invocation) async throws -> ExitStatus
}

extension Verb {
    package func check() throws {}
}
