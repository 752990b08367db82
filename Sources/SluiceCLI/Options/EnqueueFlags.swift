import ArgumentParser
import Foundation
import Operations
import Sluice
import TerminalText

/// How operations are to be queued; for a batch the defaults of its lines.
package struct EnqueueFlags: ParsableArguments {
    @Option(name: .shortAndLong, help: "The queue (default).")
    var queue = Defaults.queue
    @Option(
        name: .shortAndLong,
        help: "veryLow, low, normal, high or veryHigh.",
        transform: { try OperationPriority(typed: $0) }
    )
    var priority = OperationPriority.normal
    @Option(name: .customLong("in"), help: "Start after a time, for example 10m.", transform: DurationText.parse)
    var delay: Duration?
    @Option(
        help: ArgumentHelp("Start at a time, for example 2026-01-31T17:30:00Z.", valueName: "time"),
        transform: TimeText.parse
    )
    var at: Int64?
    @Option(name: [.short, .customLong("tag")], help: "A label; may be repeated.")
    var tag: [String] = []
    @Option(help: ArgumentHelp("An id, or any text: the same text is the same operation.", valueName: "key"))
    var id: String?
    @Option(help: "No longer start it after this time, for example 2h.", transform: DurationText.parse)
    var expires: Duration?
    @Option(help: ArgumentHelp("How often it may run, 1 to 999 (5).", valueName: "n"))
    var attempts: Int?
    @Option(
        help: "Longest time of one attempt, for example 30s (none for code, 1h for programs, http and downloads).",
        transform: DurationText.parse
    )
    var runTimeout: Duration?
    @Flag(help: "The fast path: no record unless it fails or is cancelled.")
    var noTrack = false
    @Option(
        help: ArgumentHelp(
            "Wait until wait:N replicas or the aof on disk have it, 5 s at most.",
            valueName: "none|wait:N|aof"
        ),
        transform: { try Durability(typed: $0) }
    )
    var durability = Durability.none

    package init() {}

    /// The same without the machinery of options, which costs at every access.
    package var settings: EnqueueSettings {
        EnqueueSettings(
            queue: queue,
            priority: priority,
            delay: delay,
            at: at,
            tags: tag,
            id: id,
            expires: expires,
            attempts: attempts,
            runTimeout: runTimeout,
            noTrack: noTrack
        )
    }
}

extension Durability {
    init(typed text: String) throws(CLIError) {
        do { try self.init(parsing: text) } catch {
            throw .usage(error.message, fix: "--durability wait:1")
        }
    }
}

extension OperationPriority {
    /// Reads `veryHigh`, `veryhigh`, `very-high`.
    package init(typed text: String) throws(CLIError) {
        let word = text.lowercased().filter { $0 != "-" && $0 != "_" }
        guard let priority = Self.allCases.first(where: { $0.rawValue.lowercased() == word }) else {
            throw .usage(
                "unknown priority \(OperationsError.quoted(text))",
                fix: Self.allCases.map(\.rawValue).joined(separator: ", ")
            )
        }
        self = priority
    }
}
