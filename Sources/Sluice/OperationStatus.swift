import Foundation

/// The progress that a running operation reported.
public struct OperationProgress: Sendable, Hashable, Codable {
    /// The done part of the work, 0 to 1.
    public let fraction: Double
    /// A short message for people; untrusted text.
    public let message: String

    package init(fraction: Double, message: String) {
        self.fraction = fraction
        self.message = message
    }
}

/// The stored status of a tracked operation at one moment.
public struct OperationStatus: Sendable, Equatable, Codable {
    /// The state of the operation.
    public let state: OperationState
    /// The number of the current or last run: 0 before the first run.
    public let attempt: Int
    /// 1, plus the number of workers that were lost while they held this attempt.
    public let delivery: Int
    /// How often the body has thrown `Snooze`.
    public let snoozes: Int
    /// The progress that the operation last reported; nil if it reported none.
    public let progress: OperationProgress?
    /// True once a cancel was requested.
    public let isCancelRequested: Bool
    /// The last failed attempt; nil if no attempt failed.
    public let lastFailure: OperationFailure?

    package init(_ detail: OperationDetail) {
        state = detail.state
        attempt = detail.record.attempt
        delivery = detail.record.header.delivery
        snoozes = detail.snooze?.count ?? 0
        progress = detail.progress.map { OperationProgress(fraction: $0.fraction, message: $0.message) }
        isCancelRequested = detail.cancel != nil
        lastFailure = detail.errors.last?.failure
    }
}
