import Foundation
import OperationKeys
import Operations
import Sluice
import SluiceOperator
import WorkerRuntime

/// A run of the command line: arguments, streams, settings, and the connection to Redis.
package struct Invocation: Sendable {
    package let arguments: [String]
    package let console: Console
    package let settings: Settings
    package var options: Shown
    /// Connects to Redis. Called only by commands that need a connection.
    package let connector: @Sendable (Invocation) async throws -> SluiceClient
    /// Adds the program's own operations to a worker's registry.
    package let register: @Sendable (inout OperationRegistry) -> Void
    /// The clock of Redis, as far as it was read.
    package var clock = ServerClock()

    /// Options of the output.
    package struct Shown: Sendable {
        package var showsHeader: Bool
        package var verbose: Bool
        /// Whether `-y` was given.
        package var assumesYes: Bool
    }

    package var format: OutputFormat { settings.output.content }

    package func connect() async throws -> SluiceClient { try await connector(self) }

    /// Connects, and reads the server's clock. For commands that show past or future times, since operations have the
    /// times of the server.
    package func connectReadingClock() async throws -> SluiceClient {
        let client = try await connect()
        // The node that answers this call may be unreachable while other nodes of the cluster answer.
        do { clock.set(try await client.broker.serverTime()) } catch let error as OperationsError
            where error.code == .unavailable
        {}
        return client
    }

    /// Whether to print a line for each of many operations. A terminal gets a summary, except with -v.
    package var listsAll: Bool { options.verbose || !console.isOutputTerminal }

    /// Signs and encrypts with the keys of the settings; nil = no keys.
    package var seal: (any EnvelopeSeal)? {
        settings.keys.content.map { OperationSeal($0, namespace: settings.namespace.content) }
    }

    /// The keys and the redaction for showing operations.
    package var view: PayloadView { PayloadView(seal: seal, redaction: settings.redaction.content) }

    /// Returns a copy with the given settings.
    package func with(_ settings: Settings) -> Invocation {
        Invocation(
            arguments: arguments,
            console: console,
            settings: settings,
            options: options,
            connector: connector,
            register: register,
            clock: clock
        )
    }

    /// A copy for a part of a command that was confirmed as a whole.
    package var confirmed: Invocation {
        var confirmed = self
        confirmed.options.assumesYes = true
        return confirmed
    }

    /// Begins a change. From here on, failed output does not stop the command.
    ///
    /// - Parameter question: the change, as text for the confirmation (`pause queue mail`), if the settings require one
    ///   for each change. nil = the command only adds something, only shows an effect, or asks on its own.
    /// - Throws: `.refused` under `--read-only`, or without confirmation.
    package func beginChange(asking question: String?) throws(CLIError) {
        try requireWritable()
        if let question { try confirmIfAlways(question, count: 1) }
        console.beginHandingOver()
    }

    private func requireWritable() throws(CLIError) {
        guard settings.readOnly.content else { return }
        throw CLIError(
            .refused,
            "this command changes data, and read-only mode is on: nothing was changed",
            notes: ["from: \(settings.readOnly.origin)"],
            fix: "run it again without --read-only, or unset SLUICE_READ_ONLY"
        )
    }

    /// Milliseconds since 1970, by the server's clock once that was read.
    package var now: Int64 { clock.now }
}

// MARK: - Confirmation

extension Invocation {
    /// The number of operations above which the user confirms by typing the number.
    private static let typedConfirmation = 100

    /// Asks for confirmation of a change that cannot be undone.
    ///
    /// - Parameters:
    ///   - question: the change.
    ///   - count: the number of operations that will change.
    /// - Throws: `.refused`, with the command that confirms, if the answer is no or without a terminal for the
    ///   question.
    package func confirm(_ question: String, count: Int) throws(CLIError) {
        guard !options.assumesYes else { return }
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

    /// Asks for confirmation of a change of named objects, if the settings require one for each change.
    ///
    /// - Parameters:
    ///   - change: the change, without a question mark: `pause queue mail`.
    ///   - count: the number of operations that will change.
    /// - Throws: `.refused`, as `confirm` does.
    package func confirmIfAlways(_ change: String, count: Int) throws(CLIError) {
        guard settings.confirmsAlways.content else { return }
        let place = settings.profile.map { "of profile \($0)" } ?? "in namespace \(settings.namespace.content)"
        try confirm("\(change) \(place)?", count: count)
    }
}
