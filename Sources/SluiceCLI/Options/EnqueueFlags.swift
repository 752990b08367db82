import ArgumentParser
import Foundation
import Operations
import Sluice
import TerminalText

/// The options of an enqueue, and the defaults for the lines of a batch.
package struct EnqueueFlags: ParsableArguments {
    @Option(name: .shortAndLong, help: "Enqueue into this queue (default).")
    var queue: String?
    @Option(
        name: .shortAndLong,
        help: "Set the priority: veryLow, low, normal, high or veryHigh.",
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
    @Option(name: [.short, .customLong("tag")], help: "Add a tag; may be repeated.")
    var tag: [String] = []
    @OptionGroup var headers: HeaderFlags
    @Option(help: ArgumentHelp("Set the id, or any text: the same text is the same operation.", valueName: "key"))
    var id: String?
    @Option(help: "Expire if not started within this time, for example 2h.", transform: DurationText.parse)
    var expires: Duration?
    @Option(help: ArgumentHelp("Run at most n times, 1 to 999 (5).", valueName: "n"))
    var attempts: Int?
    @Option(
        help:
            "Limit the time of one attempt, for example 30s (no limit for registered types, 1h for exec, http and download).",
        transform: DurationText.parse
    )
    var runTimeout: Duration?
    @Option(
        help: ArgumentHelp(
            "At most one operation with this key is waiting or executing in the queue; auto: name and arguments are the key.",
            valueName: "key|auto"
        )
    )
    var unique: String?
    @Option(
        help: ArgumentHelp(
            "If the unique key is taken: join (default), skip, replace, enqueue, keepLatest or debounce=TIME.",
            valueName: "policy"
        ),
        transform: { try DuplicatePolicy(typed: $0) }
    )
    var ifExists: DuplicatePolicy?
    @Option(
        help: "Let join and skip return this operation for this time after it has finished, for example 1h.",
        transform: DurationText.parse
    )
    var freshFor: Duration?
    @Option(
        help:
            "Set the limit key, for example a tenant: queue limit sets how many of a key run at once; keys get equal shares."
    )
    var limitKey: String?
    @Option(
        help: ArgumentHelp(
            "Start when these operations of any queue have ended, for example ID,ID:run; if one does not finish: cancel (default), run or hold. May be repeated.",
            valueName: "id[:policy]"
        ),
        transform: { try OperationDependency.list(typed: $0) }
    )
    var after: [[OperationDependency]] = []
    @OptionGroup var groups: GroupFlags
    @Flag(help: "Keep no record unless the operation fails or is cancelled: faster.")
    var noTrack = false
    @Option(
        help: ArgumentHelp(
            "Wait up to 5 s for N replicas (wait:N) or the append-only file on disk (aof).",
            valueName: "none|wait:N|aof"
        ),
        transform: { try Durability(typed: $0) }
    )
    var durability = Durability.none

    package init() {}

    /// The options as plain values, because property wrappers cost time at each access.
    package var settings: EnqueueSettings {
        EnqueueSettings(
            queue: queue ?? SluiceDefaults.queue,
            givenQueue: queue,
            priority: priority,
            delay: delay,
            at: at,
            tags: tag,
            headers: headers.values,
            id: id,
            expires: expires,
            attempts: attempts,
            runTimeout: runTimeout,
            noTrack: noTrack,
            unique: unique,
            ifExists: ifExists,
            freshFor: freshFor,
            limitKey: limitKey,
            after: after.flatMap { $0 },
            groups: groups.group,
            callbacks: groups.callbacks
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

extension DuplicatePolicy {
    /// Reads `keepLatest`, `keep-latest`, `debounce=5s`.
    package init(typed text: String) throws {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let word = parts[0].lowercased().filter { $0 != "-" && $0 != "_" }
        let plain: [DuplicatePolicy] = [.join, .skip, .replace, .enqueue, .keepLatest]
        if parts.count == 1, let policy = plain.first(where: { $0.word.lowercased() == word }) {
            self = policy
        } else if word == "debounce", parts.count == 2 {
            self = .debounce(try DurationText.parse(parts[1]))
        } else {
            throw CLIError.usage(
                "unknown policy \(OperationsError.quoted(text))",
                fix: plain.map(\.word).joined(separator: ", ") + ", debounce=5s"
            )
        }
    }
}
