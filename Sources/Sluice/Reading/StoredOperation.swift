import Foundation

/// An operation as it is stored, without its type.
public struct StoredOperation: Sendable {
    /// Reads its state again, waits for it, cancels it.
    public let reference: OperationReference
    /// Its state, attempt, progress and last failure.
    public let status: OperationStatus
    /// Its name, as in `DistributedOperation.name`; untrusted text.
    public let name: String
    /// Its tags; untrusted text.
    public let tags: [String]
    /// Its headers; untrusted text.
    public let headers: [String: String]
    /// The schedule that has enqueued it.
    public let schedule: String?
    /// Its priority.
    public let priority: OperationPriority
    /// When it was enqueued, by the server's clock, in milliseconds.
    public let enqueuedAt: Date
    /// The id of the worker that runs it; nil if none does.
    public let worker: String?

    init(_ detail: OperationDetail, client: SluiceClient) {
        let header = detail.record.header
        let envelope = detail.envelope
        reference = OperationReference(id: header.id, queue: detail.queue, isTracked: header.tracked, client: client)
        status = OperationStatus(detail)
        name = envelope.name
        tags = envelope.tags
        headers = envelope.headers
        schedule = envelope.schedule
        priority = header.priority
        enqueuedAt = Date(milliseconds: detail.record.enqueuedAt)
        worker = detail.worker
    }
}

/// A line that a running operation wrote with `context.log`.
public struct StoredLogLine: Sendable, Equatable {
    /// Its number: 0 for the first line. Old lines may have been dropped.
    public let number: Int
    /// When the worker sent it, by the server's clock, in milliseconds. At most 250 ms after it was written.
    public let sentAt: Date?
    /// The line without its end; untrusted text.
    public let text: String
}
