import ArgumentParser

/// The effect of a command on the data in Redis.
package enum VerbEffect: Sendable {
    case reads
    /// Creates something new, and changes nothing that exists.
    case adds
    /// Changes existing data. Always asks for confirmation if the settings require it.
    case changes
}

/// A command, parsed by ArgumentParser and run by `SluiceMain`.
package protocol Verb: ParsableCommand, Sendable {
    /// The command's formats for programs. Each command also has `table` and `wide`.
    static var formats: Set<OutputFormat> { get }
    static var effect: VerbEffect { get }

    var global: GlobalOptions { get }

    /// The formats for programs with the given options.
    var formats: Set<OutputFormat> { get }

    /// Checks the arguments before the command runs. The name is not `validate` because ArgumentParser rewrites the
    /// errors of that method.
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
