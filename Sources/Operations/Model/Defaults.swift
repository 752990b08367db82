/// Every default and limit of the product, in one place. `Scripts/includes/base/limits.lua` holds those that scripts need;
/// a test compares the two.
public enum Defaults {
    /// The namespace of whoever names none.
    public static let namespace = "sluice"
    /// The queue of whoever names none.
    public static let queue = "default"

    // Ownership
    /// How long an operation belongs to a worker from which nothing is heard.
    public static let lease: Duration = .seconds(15)
    /// Beats per lease.
    public static let beatsPerLease = 3
    /// How often an attempt is handed out before the operation is dead as lost.
    public static let maxDeliveries = 3
    /// Leases after which a worker that lost contact cancels its bodies.
    public static let leaseLossGraceLeases = 2
    /// How many lost workers a queue remembers, the latest.
    public static let lostWorkersKept = 1000
    /// For how long a queue remembers a lost worker.
    public static let lostWorkersAge: Duration = .seconds(86_400)

    // Attempts
    /// How often an operation may run if nobody says otherwise.
    public static let attempts = 5
    /// The most that may be asked for.
    public static let maxAttempts = 999
    /// Pause after the first failed attempt; it doubles with each further one.
    public static let backoffBase: Duration = .seconds(2)
    /// The longest pause, before the part that chance adds.
    public static let backoffCeiling: Duration = .seconds(3600)
    /// The largest part of a backoff that is added by chance.
    public static let backoffJitter = 0.5
    /// Pause before an operation whose name no claimant knew is offered again, ± half of it, where the queue has unhandled operations of
    /// `unhandledNames` other names.
    public static let unknownNameDelay: Duration = .seconds(30)
    /// Most names of unhandled operations of a queue.
    public static let unhandledNames = 1000
    /// Most of these that a worker names in one claim.
    package static let unhandledNamesClaimed = 50

    // Running
    /// How many operations a worker or a local queue executes at once.
    public static let slots = 10
    /// How long an operation may take to end after it was told to.
    public static let cancelGrace: Duration = .seconds(10)
    /// How long a worker that is to stop waits for what it runs.
    public static let drainTimeout: Duration = .seconds(30)
    /// Run time-out of `exec`, `http` and `download`; code of users has none.
    public static let externalRunTimeout: Duration = .seconds(3600)

    // Sizes, in bytes
    /// Most bytes of an operation's header and envelope.
    public static let operationBytes = 1 << 20
    /// From this size on an operation is worth a warning: data belongs elsewhere, with its address here.
    public static let operationWarningBytes = 64 << 10
    /// Most bytes of a result.
    public static let resultBytes = 1 << 20
    /// Most bytes of a checkpoint.
    public static let checkpointBytes = 64 << 10
    /// Most bytes of an error's message; what is longer is cut.
    public static let errorBytes = 4 << 10
    /// How many errors are kept with an operation, the latest.
    public static let errorsKept = 10
    /// Most tags of an operation.
    public static let tags = 16
    /// Most bytes of a tag.
    public static let tagBytes = 64
    /// Most lines of an operation's log; the latest are kept.
    public static let logLines = 1000
    /// Most bytes of an operation's log.
    public static let logBytes = 256 << 10
    /// Most bytes of one line of a log.
    public static let logLineBytes = 4 << 10
    /// How deep arrays and objects of arguments may be nested.
    public static let jsonDepth = 64

    // Rhythm
    /// Least time between two writes of an operation's progress.
    public static let reportInterval: Duration = .milliseconds(250)
    /// Most operations in one script call.
    public static let batch = 500
    /// Most tracked operations that a call hands out or ends: they cost several times as much, and no call should take the server 5 ms.
    public static let trackedBatch = 100

    // Retention: age in milliseconds and number of operations per queue
    /// What is kept of ended operations, by state: up to this age, and this many in each queue.
    public static let retention: [OperationState: (ageMilliseconds: Int64, count: Int)] = [
        .finished: (3_600_000, 100_000),
        .cancelled: (86_400_000, 10_000),
        .expired: (86_400_000, 10_000),
        .dead: (90 * 86_400_000, 100_000),
    ]
}
