import Foundation
import Logging

/// The id, attempt and options of a running operation, and its methods to report progress, log and store checkpoints.
public struct OperationContext: Sendable {
    /// The operation's id, the same in all its attempts.
    public let id: OperationID
    /// The name under which the handler is registered.
    public let name: String
    /// The queue from which the operation was claimed.
    public let queue: String
    /// The priority of the operation when it was claimed.
    public let priority: OperationPriority
    /// 1 for the first run. Only a failure of the operation itself starts the next attempt.
    public let attempt: Int
    /// The number of attempts after which the operation is dead.
    public let maxAttempts: Int
    /// 1, plus the number of workers that were lost while they held this attempt.
    public let delivery: Int
    /// The producer's tags.
    public let tags: [String]
    /// The producer's headers: texts that accompany the arguments, for example a tenant or a trace. Equal in each
    /// attempt, apart from the trace, which names the run.
    public package(set) var headers: [String: String]
    /// Metadata that `logger` has in addition to that of the run, for middleware.
    public var loggerMetadata: Logger.Metadata = [:]
    /// The facts that the worker reports to its middleware; nil = the worker has no middleware.
    package var notes: RunNotes?
    private let validFence: Int64
    package let link: any OperationLink

    package init(
        claimed: ClaimedOperation,
        envelope: OperationEnvelope,
        maxAttempts: Int = SluiceDefaults.attempts,
        queue: String,
        link: any OperationLink
    ) {
        id = claimed.id
        name = envelope.name
        self.queue = queue
        priority = claimed.header.priority
        attempt = claimed.attempt
        self.maxAttempts = maxAttempts
        delivery = claimed.header.delivery
        tags = envelope.tags
        headers = envelope.headers
        validFence = claimed.fence
        self.link = link
    }

    /// Makes the context of a run in a local queue, which no other process can take over.
    init(
        id: OperationID,
        name: String,
        queue: String,
        priority: OperationPriority,
        attempt: Int,
        maxAttempts: Int,
        headers: [String: String],
        fence: Int64,
        link: any OperationLink
    ) {
        self.id = id
        self.name = name
        self.queue = queue
        self.priority = priority
        self.attempt = attempt
        self.maxAttempts = maxAttempts
        delivery = 1
        tags = []
        self.headers = headers
        validFence = fence
        self.link = link
    }

    /// A number that grows with each claim in this queue.
    ///
    /// Pass the fence to a store that refuses lower numbers: then a run that lost its lease cannot overwrite the writes
    /// of its successor.
    ///
    /// - Throws: `OperationsError` with `.leaseLost` if this run may no longer own the operation.
    public var fence: Int64 {
        get throws {
            guard link.ownsLease else {
                throw OperationsError(
                    .leaseLost,
                    "the lease of this run (fence \(validFence)) has lapsed; another worker may own operation \(id)",
                    id: id
                )
            }
            return validFence
        }
    }

    /// The reason, author and time of the cancel request. `Task.isCancelled` becomes true at the same time.
    ///
    /// Nil while no cancel is requested, and if the body must end for another reason: its time limit, or a worker that
    /// stops.
    public var cancellation: OperationCancellation? { link.cancellation }

    /// Sets the function to call if a forced cancel ends the operation, to stop the body's programs at once.
    package func whenForced(_ kill: @escaping @Sendable () -> Void) { link.whenForced(kill) }

    /// Reports progress, at most every 250 ms; the last value always arrives.
    ///
    /// - Parameters:
    ///   - fraction: 0 to 1. Other values are clamped, and NaN is ignored.
    ///   - message: a short text to show.
    public func progress(_ fraction: Double, _ message: String = "") {
        guard !fraction.isNaN else { return }
        link.write(.progress(fraction: min(max(fraction, 0), 1), message: message))
    }

    /// Adds lines to the operation's log (`sluice logs ID`), which keeps the last 1,000 lines or 256 KiB.
    ///
    /// A line of more than 4,096 bytes is cut between two characters and ends with "…".
    public func log(_ text: String) { link.write(lines: text) }

    /// Stores a checkpoint, from which the next run can continue after a failed attempt, a lost worker or a drain.
    ///
    /// The last checkpoint counts. Redis has it within 250 ms, and before the end of this run. Work after the last
    /// stored checkpoint is repeated. A run that lost its lease stores nothing. Only tracked operations have
    /// checkpoints.
    ///
    /// - Parameter state: a value of at most 64 KiB as JSON.
    /// - Throws: `OperationsError` with `.tooLarge`, or what the encoder throws.
    public func checkpoint(_ state: some Encodable) throws {
        try checkpoint(json: Array(try JSONEncoder().encode(state)))
    }

    /// Stores a checkpoint that already is JSON.
    package func checkpoint(json: [UInt8]) throws(OperationsError) {
        guard json.count <= SluiceDefaults.checkpointBytes else {
            throw OperationsError(
                .tooLarge,
                "the checkpoint has \(json.count) bytes, and at most \(SluiceDefaults.checkpointBytes) are allowed: "
                    + "store the data elsewhere and keep its address",
                id: id
            )
        }
        link.write(.checkpoint(json))
    }

    /// Returns the last checkpoint of this operation, from this run or an earlier one; nil if none is stored.
    ///
    /// ```swift
    /// var page = try await context.lastCheckpoint(as: Int.self) ?? 0
    /// ```
    ///
    /// - Parameter type: the type of the stored value.
    /// - Throws: `DecodingError` if the checkpoint is of another type; the error of the read.
    public func lastCheckpoint<State: Decodable>(as type: State.Type = State.self) async throws -> State? {
        guard let json = try await lastCheckpointJSON() else { return nil }
        return try JSONDecoder().decode(type, from: Data(json))
    }

    /// Returns the last checkpoint as stored JSON.
    package func lastCheckpointJSON() async throws -> [UInt8]? { try await link.lastCheckpoint() }
}

/// A running operation's connection to its executor.
package protocol OperationLink: Sendable {
    var ownsLease: Bool { get }
    var cancellation: OperationCancellation? { get }
    /// Sets the function to call if a forced cancel ends the operation; calls it at once if one already has.
    func whenForced(_ kill: @escaping @Sendable () -> Void)
    func write(_ content: Report.Content)
    /// Returns the last checkpoint, of this run or an earlier one.
    func lastCheckpoint() async throws -> [UInt8]?
    /// Returns how the dependencies ended.
    func inputs() async throws -> [DependencyInput]
    /// The producer through which the body enqueues; nil = the body cannot enqueue.
    var producer: RunProducer? { get }
    /// The results of `once`; nil = the operation is not tracked.
    var onceResults: OnceResults? { get }
    var isTracked: Bool { get }
    /// The logger of the worker, or of the program for a local queue.
    var logger: Logger { get }
    /// The level from which log lines of the body also go to the operation's log; nil = none do.
    var operationLogLevel: Logger.Level? { get }
    /// Returns why the operation should leave its slot between two steps of the body; nil = it keeps the slot.
    ///
    /// - Parameter sliceIsOver: whether the body has run for its time slice.
    func slotWish(sliceIsOver: Bool) -> SlotWish?
}

extension OperationLink {
    /// Writes a text to the operation's log, line by line.
    func write(lines text: String) {
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            write(.log(line: Array(String(line).cut(toBytes: SluiceDefaults.logLineBytes).utf8)))
        }
    }

    package func whenForced(_ kill: @escaping @Sendable () -> Void) {}
    package func lastCheckpoint() async throws -> [UInt8]? { nil }
    package var producer: RunProducer? { nil }
    package var onceResults: OnceResults? { nil }
    package func inputs() async throws -> [DependencyInput] { [] }
    package var isTracked: Bool { true }
    package var logger: Logger { Logger(label: "sluice.operation") }
    package var operationLogLevel: Logger.Level? { nil }
    package func slotWish(sliceIsOver: Bool) -> SlotWish? { nil }
}
