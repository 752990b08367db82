import Operations
import Sluice

/// A checked operation to enqueue.
package struct EnqueueInput: Sendable, Equatable {
    package var queue: String
    package var name: String
    package var operation: NewOperation
    /// The start in milliseconds since 1970, which becomes a delay when the server's time is known.
    package var startsAt: Int64?
    /// Whether the producer has chosen the operation's id.
    package var isNamed = false
    /// The groups that the operation enters, as they were named.
    package var groups: [IDReference] = []
    /// The group whose callback the operation is. A callback is enqueued into the queue of its group.
    package var callback: CallbackRequest?
    /// The queue that was named for the operation; nil = the default queue applies.
    package var givenQueue: String?
    /// The line in a batch; 0 outside of a batch.
    package var line = 0

    /// Whether the operation expires before it is due. False for a start time, since its delay is not known yet.
    var neverStarts: Bool {
        operation.expiresMilliseconds > 0 && operation.delayMilliseconds >= operation.expiresMilliseconds
    }

    /// Reads the server's time if the request has a start time.
    func serverTime(_ client: SluiceClient) async throws -> Int64? {
        guard startsAt != nil else { return nil }
        return try await client.broker.snapshot(queue: queue, executingRows: 0).time
    }

    /// Checks that the signed and encrypted operation is not too large.
    ///
    /// - Throws: `.tooLarge`.
    func check(sealedBy seal: (any EnvelopeSeal)?) throws(OperationsError) {
        // Encryption makes the arguments a third larger, so a small operation needs no check.
        guard let seal, operation.envelope.count > SluiceDefaults.operationBytes / 2 else { return }
        _ = try seal.seal(operation.envelope, id: operation.id, queue: queue)
    }

    /// Returns the operation with its delay.
    ///
    /// - Throws: `.invalidOption` if the start is more than 100 years away, or if the server's time is needed but nil.
    package func resolved(serverTime: Int64?) throws(OperationsError) -> NewOperation {
        guard let startsAt else { return operation }
        guard let serverTime else { throw OperationsError(.invalidOption, "the server's time is not known") }
        var operation = operation
        operation.delayMilliseconds = try TimeLimit.delay(until: Double(startsAt), now: serverTime)
        operation.tracked = operation.tracked || operation.delayMilliseconds > 0
        return operation
    }
}
