import Operations
import Sluice

/// One checked operation to enqueue.
package struct EnqueueRequest: Sendable, Equatable {
    package var queue: String
    package var name: String
    package var operation: NewOperation
    /// The start in milliseconds since 1970, which becomes a delay when the server's clock is known.
    package var startsAt: Int64?
    /// Whether the producer has chosen its id.
    package var isNamed = false
    /// The groups that it enters, before they are found.
    package var groups: [IDReference] = []
    /// It is a callback of this group, and enqueued into its queue.
    package var callback: CallbackRequest?
    /// The queue that was named for it; nil = it has the default one.
    package var givenQueue: String?
    /// The line in a batch.
    package var line = 0

    /// Whether it expires before it is due. Of an instant, the delay is not known here.
    var neverStarts: Bool {
        operation.expiresMilliseconds > 0 && operation.delayMilliseconds >= operation.expiresMilliseconds
    }

    /// Reads the server's clock if it is needed.
    func serverTime(_ client: SluiceClient) async throws -> Int64? {
        guard startsAt != nil else { return nil }
        return try await client.broker.snapshot(queue: queue, executingRows: 0).time
    }

    /// Checks that the operation is not too large after it is signed and encrypted.
    ///
    /// - Throws: `.tooLarge`.
    func check(sealedBy seal: (any EnvelopeSeal)?) throws(OperationsError) {
        // Encryption makes the arguments a third larger.
        guard let seal, operation.envelope.count > Defaults.operationBytes / 2 else { return }
        _ = try seal.seal(operation.envelope, id: operation.id, queue: queue)
    }

    /// Returns the operation with its delay.
    ///
    /// - Throws: `.invalidOption` if it starts more than 100 years after the server's time.
    package func resolved(serverTime: Int64?) throws(OperationsError) -> NewOperation {
        guard let startsAt else { return operation }
        guard let serverTime else { throw OperationsError(.invalidOption, "the server's time is not known") }
        var operation = operation
        operation.delayMilliseconds = try TimeLimit.delay(until: Double(startsAt), now: serverTime)
        operation.tracked = operation.tracked || operation.delayMilliseconds > 0
        return operation
    }
}
