import Foundation
import OperationKeys
import Operations
import Sluice
import WorkerRuntime

/// One run of the command line: its arguments, streams and settings, and the way to Redis.
package struct Invocation: Sendable {
    package let arguments: [String]
    package let console: Console
    package let settings: Settings
    package let options: Shown
    /// Connects when a command needs it; commands that read nothing never do.
    package let connector: @Sendable (Invocation) async throws -> SluiceClient
    /// Adds the program's own operations to a worker's registry.
    package let register: @Sendable (inout OperationRegistry) -> Void

    /// How to show data.
    package struct Shown: Sendable {
        package var showsHeader: Bool
        package var verbose: Bool
    }

    package var format: OutputFormat { settings.output.content }

    package func connect() async throws -> SluiceClient { try await connector(self) }

    /// A line for each of many operations; people who look at a terminal get a summary unless they ask for more.
    package var listsAll: Bool { options.verbose || !console.isOutputTerminal }

    /// What the keys of the settings make of operations; nil = there are no keys.
    package var seal: (any EnvelopeSeal)? {
        settings.keys.content.map { OperationSeal($0, namespace: settings.namespace.content) }
    }

    /// With what operations are shown.
    package var view: PayloadView { PayloadView(seal: seal, redaction: settings.redaction.content) }

    /// The same with other settings.
    package func with(_ settings: Settings) -> Invocation {
        Invocation(
            arguments: arguments,
            console: console,
            settings: settings,
            options: options,
            connector: connector,
            register: register
        )
    }

    /// The same with further operations for workers.
    package func adding(_ operations: @escaping @Sendable (inout OperationRegistry) -> Void) -> Invocation {
        Invocation(
            arguments: arguments,
            console: console,
            settings: settings,
            options: options,
            connector: connector,
            register: { registry in
                register(&registry)
                operations(&registry)
            }
        )
    }

    /// Refuses under `--read-only`. Otherwise what follows changes something, and output that fails does not stop it.
    package func requireWritable() throws(CLIError) {
        guard settings.readOnly.content else { return console.beginHandingOver() }
        throw CLIError(
            .refused,
            "read-only: nothing was changed",
            notes: ["from: \(settings.readOnly.origin)"],
            fix: "without --read-only"
        )
    }

    /// Milliseconds since 1970 by this machine's clock: for showing ages only.
    package var localNow: Int64 { Int64(Date().timeIntervalSince1970 * 1000) }
}

// MARK: - Confirmation

extension Invocation {
    /// Above this many operations a confirmation is the number, typed.
    private static let typedConfirmation = 100

    /// Asks before something that cannot be taken back.
    ///
    /// - Parameters:
    ///   - question: what is about to happen.
    ///   - count: how many operations it concerns.
    ///   - isConfirmed: `-y` was given.
    /// - Throws: `.refused` if the answer is no, or nobody can answer: with the command to give then.
    package func confirm(_ question: String, count: Int, isConfirmed: Bool) throws(CLIError) {
        guard !isConfirmed else { return }
        let fix = Program.command(arguments, adding: "-y")
        guard console.isInputTerminal, !settings.noInput.content else {
            throw CLIError(.refused, "not confirmed: \(question)", notes: ["nothing was changed"], fix: fix)
        }
        let typed = count > Self.typedConfirmation
        console.ask(question + (typed ? " Type \(count) to confirm: " : " [y/N] "))
        let answer = readLine()?.trimmingCharacters(in: .whitespaces).lowercased() ?? ""
        guard typed ? answer == String(count) : ["y", "yes"].contains(answer) else {
            throw CLIError(.refused, "not confirmed; nothing was changed", fix: fix)
        }
    }
}
