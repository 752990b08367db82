import BuiltinOperations
import ArgumentParser
import Foundation
import SluiceOperator
import Sluice
@_exported import SluiceWorker

/// Runs the command line of `sluice` in your own program:
///
/// ```swift
/// @main struct App {
///     static func main() async { await SluiceMain.run { $0.register(Resize.self) } }
/// }
/// ```
///
/// The program then has every command of `sluice` except `dashboard`. Its workers run the registered operations in
/// addition to the built-in ones.
public enum SluiceMain {
    /// Runs the command in the program's arguments, and ends the process with the command's exit status.
    ///
    /// - Parameter register: registers the program's operations. Called once for each worker.
    public static func run(
        _ register: @escaping @Sendable (inout OperationRegistry) -> Void = { _ in }
    ) async -> Never {
        await run(RootCommand.self, register)
    }

    /// Runs the command line with further commands, which come last in the help.
    package static func run(adding verbs: [any Verb.Type]) async -> Never {
        await run(RootCommand.self, adding: verbs) { _ in }
    }

    /// Runs a program of one command, whose arguments are those of the program.
    package static func run(only verb: any Verb.Type) async -> Never { await run(verb) { _ in } }

    private static func run(
        _ root: any Verb.Type,
        adding verbs: [any Verb.Type] = [],
        _ register: @escaping @Sendable (inout OperationRegistry) -> Void
    ) async -> Never {
        ExecGuard.runIfAsked()
        EndingSignals.prepare()
        StandardStreams.occupy()
        // If the reader of the output closes its end, the write must fail; SIGPIPE would end the worker.
        signal(SIGPIPE, SIG_IGN)
        let arguments = Array(CommandLine.arguments.dropFirst())
        let environment = ProcessInfo.processInfo.environment
        let status = await RootCommand.$added.withValue(verbs) {
            await run(arguments, root: root, environment: environment, register: register)
        }
        exit(status.rawValue)
    }

    /// Runs a command with the given arguments. The call ends the process only if output cannot be written.
    package static func run(
        _ arguments: [String],
        root: any Verb.Type = RootCommand.self,
        environment: [String: String],
        connector: @escaping @Sendable (Invocation) async throws -> SluiceClient = Connector.connect,
        register: @escaping @Sendable (inout OperationRegistry) -> Void = { _ in }
    ) async -> ExitStatus {
        let asJSON = Self.wantsJSON(arguments, environment)
        var words = arguments
        do {
            words = try CommandLineRewriter(root).rewrite(arguments)
            if words == ["help", "exit-codes"] { return printed(ExitStatus.table) }
            if words.count == 2, words[0] == "help", BuiltinHelp.topics.contains(words[1]) {
                return printed(BuiltinHelp.text)
            }
            var command = try root.parseAsRoot(words)
            guard let verb = command as? any Verb else {
                try command.run()
                return .done
            }
            return await perform(verb, arguments, environment, connector, register)
        } catch {
            return rejected(error, by: root, words: words, typed: arguments, asJSON: asJSON)
        }
    }

    private static func perform(
        _ verb: any Verb,
        _ arguments: [String],
        _ environment: [String: String],
        _ connector: @escaping @Sendable (Invocation) async throws -> SluiceClient,
        _ register: @escaping @Sendable (inout OperationRegistry) -> Void
    ) async -> ExitStatus {
        let options = verb.global
        let console = Console(
            color: options.color ?? .auto,
            ascii: options.ascii,
            quiet: options.quiet,
            environment: environment
        )
        var settings: Settings?
        do {
            try verb.check()
            let found = try Settings(options, environment: environment)
            settings = found
            let invocation = Invocation(
                arguments: arguments,
                console: console,
                settings: try found.fitted(to: verb.formats),
                options: .init(showsHeader: !options.noHeaders, verbose: options.verbose, assumesYes: options.yes),
                connector: connector,
                register: register
            )
            let status = try await verb.perform(invocation)
            guard let error = console.outputError else { return status }
            console.report(error, asJSON: found.output.content.isJSON)
            return status == .done ? error.status : status
        } catch {
            let asJSON = settings?.output.content.isJSON ?? wantsJSON(arguments, environment)
            if let error = console.outputError { console.report(error, asJSON: asJSON) }
            let report = ErrorTranslation.report(error, settings: settings)
            console.report(report, asJSON: asJSON)
            return report.status
        }
    }
}

// MARK: - Arguments that cannot be parsed

extension SluiceMain {
    /// Whether errors are printed as JSON. Found without the parser because the parser may have failed.
    private static func wantsJSON(_ arguments: [String], _ environment: [String: String]) -> Bool {
        let words = arguments.prefix { $0 != "--" }
        var format = environment["SLUICE_OUTPUT"]
        for (index, word) in words.enumerated() {
            if ["-o", "--output"].contains(word), index + 1 < words.count { format = words[index + 1] }
            for prefix in ["--output=", "-o="] where word.hasPrefix(prefix) {
                format = String(word.dropFirst(prefix.count))
            }
        }
        return format.flatMap(OutputFormat.init(rawValue:))?.isJSON ?? false
    }

    private static func rejected(
        _ error: any Error,
        by root: any Verb.Type,
        words: [String],
        typed arguments: [String],
        asJSON: Bool
    ) -> ExitStatus {
        let console = Console()
        if root.exitCode(for: error).isSuccess { return printed(root.fullMessage(for: error)) }
        let report = parseError(error, root, words, arguments)
        console.report(report, asJSON: asJSON)
        return report.status
    }

    /// Makes an error from ArgumentParser's message and the command's help.
    private static func parseError(
        _ error: any Error,
        _ root: any Verb.Type,
        _ words: [String],
        _ arguments: [String]
    ) -> CLIError {
        if let error = error as? CLIError { return error }
        let full = root.fullMessage(for: error)
        let lines = full.split(separator: "\n").map(String.init)
        let message = root.message(for: error).split(separator: "\n").joined(separator: " ")
        if let unknown = UnknownOption(message, of: root, words: words, typed: arguments) { return unknown.error }
        let help = lines.last { $0.contains("--help' for more information") }
        let fix = help.flatMap { $0.split(separator: "'").dropFirst().first.map(String.init) }
        return .usage(message, fix: fix ?? "\(Program.name) --help")
    }

    private static func printed(_ text: String) -> ExitStatus {
        Console().print(text)
        return .done
    }
}
