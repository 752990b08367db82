import Foundation

/// A requested cancel: why, by whom and when.
///
/// ```swift
/// do { try await upload(file) } catch is CancellationError {
///     if let cancel = context.cancellation { context.log("stopped for \(cancel.by ?? "this process"): \(cancel.reason)") }
///     throw CancellationError()
/// }
/// ```
public struct Cancellation: Sendable, Equatable {
    /// The text of the request; empty if it has none.
    public let reason: String
    /// Who requested it, such as `ann@host`: a label for people. Nil for a cancel inside this process.
    public let by: String?
    /// When it was requested, by the server's clock. Nil for a cancel inside this process.
    public let requestedAt: Date?
    /// Whether the cancel was forced: the operation has ended and its slot is free. What the body writes from now on is refused.
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
