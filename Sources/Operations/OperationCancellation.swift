import Foundation

/// A requested cancel: its reason, its author and its time.
///
/// ```swift
/// do { try await upload(file) } catch is CancellationError {
///     if let cancel = context.cancellation {
///         context.log("stopped for \(cancel.by ?? "this process"): \(cancel.reason)")
///     }
///     throw CancellationError()
/// }
/// ```
public struct OperationCancellation: Sendable, Equatable {
    /// The text of the request; empty if it has none.
    public let reason: String
    /// The author of the request, such as `ann@host`: a label for people. Nil for a cancel inside this process.
    public let by: String?
    /// The time of the request, by the server's clock. Nil for a cancel inside this process.
    public let requestedAt: Date?
    /// Whether the cancel was forced: the operation has ended and its slot is free. Later writes of the body are
    /// refused.
    public let isForced: Bool

    package let milliseconds: Int64?

    package init(reason: String, by: String? = nil, requestedAt milliseconds: Int64? = nil, isForced: Bool = false) {
        self.reason = reason
        self.by = by
        self.isForced = isForced
        self.milliseconds = milliseconds
        requestedAt = milliseconds.map { Date(timeIntervalSince1970: Double($0) / 1000) }
    }
}
