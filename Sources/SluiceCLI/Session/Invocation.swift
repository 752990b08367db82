import Foundation
import OperationKeys
import Operations
import Sluice
import WorkerRuntime

/// One run of the command line: arguments, streams, settings, and the connection to Redis.
package struct Invocation: Sendable {
    package let arguments: [String]
    package let console: Console
    package let settings: Settings
    package var options: Shown
    /// Connects to Redis. Only called by commands that need it.
    package let connector: @Sendable (Invocation) async throws -> SluiceClient
    /// Adds the program's own operations to a worker's registry.
    package let register: @Sendable (inout OperationRegistry) -> Void
    /// Redis' clock, as far as it was read.
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

    /// Connects for a command that shows when something was or will be, and reads Redis' clock: operations have its times.
    package func connectReadingClock() async throws -> SluiceClient {
        let client = try await connect()
        // In a cluster, the node that is asked may be away while others answer.
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

    /// The keys and the redaction with which operations are shown.
    package var view: PayloadView { PayloadView(seal: seal, redaction: settings.redaction.content) }

    /// Returns a copy with other settings.
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

    /// The same for a part of a command that was confirmed as a whole.
    package var confirmed: Invocation {
        var confirmed = self
        confirmed.options.assumesYes = true
        return confirmed
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
            },
            clock: clock
        )
    }

    /// Begins a change: output that fails from here on does not stop it.
    ///
    /// - Parameter question: the change, to ask about it if the settings want each change confirmed (`pause queue mail`); nil = the command only adds
    ///   something, only shows what it would do, or asks itself.
    /// - Throws: `.refused` under `--read-only`, or if it is not confirmed.
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

    /// Milliseconds since 1970, by Redis' clock once that was read.
    package var now: Int64 { clock.now }
}

// MARK: - Confirmation

extension Invocation {
    /// For more operations than this, the user confirms by typing the number.
    private static let typedConfirmation = 100

    /// Asks for confirmation of a change that cannot be undone.
    ///
    /// - Parameters:
    ///   - question: what is about to happen.
    ///   - count: how many operations will change.
    /// - Throws: `.refused` if the answer is no, or if there is no terminal to ask on; with the command that confirms.
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

    /// Asks for confirmation of a change of what is named, which needs it only if the settings want each change confirmed.
    ///
    /// - Parameter change: without the question mark: `pause queue mail`.
    package func confirmIfAlways(_ change: String, count: Int) throws(CLIError) {
        guard settings.confirmsAlways.content else { return }
        let place = settings.profile.map { "of profile \($0)" } ?? "in namespace \(settings.namespace.content)"
        try confirm("\(change) \(place)?", count: count)
    }
}
