import ArgumentParser

/// The effect of a command on the data in Redis.
package enum VerbEffect: Sendable {
    case reads
    /// Makes something new, and changes nothing that is there.
    case adds
    /// Changes what is there: confirmed each time if the settings say so.
    case changes
}

/// One command: parsed by ArgumentParser, run by `SluiceMain`.
package protocol Verb: ParsableCommand, Sendable {
    /// The formats for programs that the command has. Each command has `table` and `wide` as well.
    static var formats: Set<OutputFormat> { get }
    static var effect: VerbEffect { get }

    var global: GlobalOptions { get }

    /// The formats of the command with these options.
    var formats: Set<OutputFormat> { get }

    /// Checks the arguments before anything is done. (Not `validate`, whose errors ArgumentParser rewrites.)
    func check() throws

    /// Runs the command.
    ///
    /// - Returns: the exit status.
    /// - Throws: any error; `ErrorTranslation` converts it to a message and a status.
    func perform(_ invocation: Invocation) async throws -> ExitStatus
}

extension Verb {
    package var formats: Set<OutputFormat> { Self.formats }

    package func check() throws {}
}
