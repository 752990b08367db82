/// Throw this in a body to be run again later, without a used attempt.
///
/// ```swift
/// guard try await export.isReady else { throw Snooze(for: .seconds(30), "the export is not ready") }
/// ```
///
/// Use it to wait for something that takes longer than a slot should be held. The operation is scheduled again: its
/// attempt, checkpoint, progress and log stay, no error is stored, and the count of lost workers restarts. An
/// operation may snooze any number of times; `sluice show` prints how often it has. If a cancel was requested, the
/// operation ends as cancelled instead.
///
/// In a local queue the operation is `retrying` during the pause.
public struct Snooze: Error, Sendable, Equatable {
    /// How long the operation waits before its body runs again.
    public let pause: Duration
    /// The reason, shown by `sluice show` and `sluice explain`.
    public let reason: String

    /// Makes the error that asks for a later run.
    ///
    /// - Parameters:
    ///   - pause: how long to wait, up to 100 years; less than zero counts as zero.
    ///   - reason: one line; a text over 500 bytes is cut.
    public init(for pause: Duration, _ reason: String = "") {
        self.pause = max(.zero, pause.limited)
        self.reason = reason.cut(toBytes: SluiceDefaults.snoozeReasonBytes)
    }
}
