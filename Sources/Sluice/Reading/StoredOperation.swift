import Foundation

/// A stored operation, without its type.
public struct StoredOperation: Sendable {
    /// The reference, to read the state again, or to wait for or cancel the operation.
    public let reference: OperationReference
    /// State, attempt, progress and last failure.
    public let status: OperationStatus
    /// The name, as in `DistributedOperation.name`; untrusted text.
    public let name: String
    /// The tags; untrusted text.
    public let tags: [String]
    /// The headers; untrusted text.
    public let headers: [String: String]
    /// The schedule that enqueued the operation; nil for any other operation.
    public let schedule: String?
    /// The priority.
    public let priority: OperationPriority
    /// When the operation was enqueued, by the server's clock, in whole milliseconds.
    public let enqueuedAt: Date
    /// The id of the worker that runs the operation; nil if no worker does.
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
    /// The number of the line: 0 for the first line. Old lines may have been dropped.
    public let number: Int
    /// When the worker sent the line, by the server's clock, in whole milliseconds: at most 250 ms after the operation
    /// wrote it. nil for lines that an older version stored.
    public let sentAt: Date?
    /// The line without its end; untrusted text.
    public let text: String
}
