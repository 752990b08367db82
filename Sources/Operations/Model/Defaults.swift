/// Every default and limit of the product, in one place. `Scripts/includes/limits.lua` holds those that scripts need;
/// a test compares the two.
public enum Defaults {
    public static let namespace = "sluice"
    public static let queue = "default"

    // Ownership
    public static let lease: Duration = .seconds(15)
    /// Beats per lease.
    public static let beatsPerLease = 3
    public static let maxDeliveries = 3
    /// Leases after which a worker that lost contact cancels its bodies.
    public static let leaseLossGraceLeases = 2

    // Attempts
    public static let attempts = 5
    public static let maxAttempts = 999
    public static let backoffBase: Duration = .seconds(2)
    public static let backoffCeiling: Duration = .seconds(3600)
    /// The largest part of a backoff that is added by chance.
    public static let backoffJitter = 0.5
    /// Pause before an operation whose name no claimant knew is offered again, ± half of it.
    public static let unknownNameDelay: Duration = .seconds(30)

    // Running
    public static let slots = 10
    public static let cancelGrace: Duration = .seconds(10)
    public static let drainTimeout: Duration = .seconds(30)
    /// Run time-out of `exec`, `http` and `download`; code of users has none.
    public static let externalRunTimeout: Duration = .seconds(3600)

    // Sizes, in bytes
    public static let operationBytes = 1 << 20
    public static let operationWarningBytes = 64 << 10
    public static let resultBytes = 1 << 20
    public static let checkpointBytes = 64 << 10
    public static let errorBytes = 4 << 10
    public static let errorsKept = 10
    public static let tags = 16
    public static let tagBytes = 64
    public static let logLines = 1000
    public static let logBytes = 256 << 10
    public static let logLineBytes = 4 << 10
    public static let jsonDepth = 64

    // Rhythm
    /// Least time between two writes of an operation's progress.
    public static let reportInterval: Duration = .milliseconds(250)
    /// Most operations in one script call.
    public static let batch = 500

    // Retention: age in milliseconds and number of operations per queue
    public static let retention: [OperationState: (ageMilliseconds: Int64, count: Int)] = [
        .finished: (3_600_000, 100_000),
        .cancelled: (86_400_000, 10_000),
        .expired: (86_400_000, 10_000),
        .dead: (90 * 86_400_000, 100_000),
    ]
}
