import ArgumentParser
import Foundation
import Operations
import Sluice
import SluiceMonitor

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
    @Option(name: .customLong("in"), help: "Start after a time (10m).", transform: DurationText.parse)
    var delay: Duration?
    @Option(help: ArgumentHelp("Start at a time (2026-01-31T17:30:00Z).", valueName: "time"), transform: TimeText.parse)
    var at: Int64?
    @Option(name: [.short, .customLong("tag")], help: "A label; may be repeated.")
    var tag: [String] = []
    @Option(help: ArgumentHelp("An id, or any text: the same text is the same operation.", valueName: "key"))
    var id: String?
    @Option(help: "No longer start it after this time (2h).", transform: DurationText.parse)
    var expires: Duration?
    @Option(help: ArgumentHelp("How often it may run, 1 to 999 (5).", valueName: "n"))
    var attempts: Int?
    @Option(help: "Longest time of one attempt (30s).", transform: DurationText.parse)
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

    func check() throws(CLIError) {
        guard delay == nil || at == nil else {
            throw .usage("--in and --at exclude each other", fix: "drop one of them")
        }
        guard !noTrack || (delay == nil && at == nil) else {
            throw .usage("a delayed operation is always tracked", fix: "without --no-track")
        }
        if let at { try Self.checkFuture(at, "--at") }
        guard id.map({ !$0.isEmpty }) ?? true else { throw .usage("--id is empty", fix: "--id order-4711") }
    }

    /// A time in the past is a slip: to run now needs no time at all.
    static func checkFuture(_ at: Int64, _ name: String) throws(CLIError) {
        let now = Int64(Date().timeIntervalSince1970 * 1000)
        guard at < now else { return }
        throw .usage(
            "\(name) \(TimeText.rfc3339(at)) is in the past (\(TimeText.relative(at, now: now)))",
            fix: "to run it now drop \(name)"
        )
    }

    var options: EnqueueOptions {
        EnqueueOptions(
            priority: priority,
            start: delay.map { .after($0) } ?? .now,
            tags: tag,
            id: id.map { OperationID(key: $0) },
            attempts: attempts,
            expires: expires,
            runTimeout: runTimeout,
            tracked: !noTrack
        )
    }

    func request(name: String, arguments: JSONValue) throws -> EnqueueRequest {
        try NameRule.check(queue, role: "queue")
        let bytes = arguments.serializedBytes()
        return EnqueueRequest(
            queue: queue,
            operation: try options.operation(name: name, arguments: bytes, serverTime: nil),
            startsAt: at
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

/// One operation, checked, on its way to a queue.
package struct EnqueueRequest: Sendable, Equatable {
    package var queue: String
    package var operation: NewOperation
    /// Milliseconds since 1970: becomes a delay once the server's clock is known.
    package var startsAt: Int64?

    /// The server's clock, if it is needed.
    func serverTime(_ client: SluiceClient) async throws -> Int64? {
        guard startsAt != nil else { return nil }
        return try await client.broker.snapshot(queue: queue, executingRows: 0).time
    }

    /// The operation with its delay.
    package func resolved(serverTime: Int64?) throws(OperationsError) -> NewOperation {
        guard let startsAt else { return operation }
        guard let serverTime else { throw OperationsError(.invalidOption, "the server's time is not known") }
        var operation = operation
        operation.delayMilliseconds = max(0, startsAt - serverTime)
        operation.tracked = operation.tracked || operation.delayMilliseconds > 0
        return operation
    }
}

extension NewOperation {
    /// The name inside its envelope.
    package var envelopeName: String { (try? OperationEnvelope(envelope))?.name ?? "" }
}
