/// Every default and limit of the product, in one place. `Scripts/includes/base/limits.lua` holds those that scripts
/// need; a test compares the two.
public enum SluiceDefaults {
    /// The version of the product.
    package static let version = "0.1.0"
    /// The namespace if none is given.
    public static let namespace = "sluice"
    /// The queue if none is given.
    public static let queue = "default"

    // Ownership
    /// How long a worker keeps its operations without a heartbeat.
    public static let lease: Duration = .seconds(15)
    /// Heartbeats per lease.
    public static let beatsPerLease = 3
    /// How often an attempt is delivered before the operation is dead because its workers were lost.
    public static let maxDeliveries = 3
    /// How long bodies continue after the lease of their worker has lapsed because Redis does not answer.
    public static let outageGrace: Duration = .seconds(600)
    /// How many of the latest lost workers a queue remembers.
    public static let lostWorkersKept = 1000
    /// How long a queue remembers a lost worker.
    public static let lostWorkersAge: Duration = .seconds(86_400)
    /// How many operation names of a queue have statistics of their own in an hour or a day. All further names are
    /// counted together.
    public static let statisticsNames = 75
    /// The most characters of the build that a worker reports.
    public static let buildLength = 64
    /// How many of the newest builds a queue remembers.
    public static let buildsKept = 50

    // Attempts
    /// How often an operation may run, unless the type or the producer sets a number.
    public static let attempts = 5
    /// The largest number of attempts.
    public static let maxAttempts = 999
    /// The pause after the first failed attempt; it doubles with each further one.
    public static let backoffBase: Duration = .seconds(2)
    /// The longest pause, before jitter.
    public static let backoffCeiling: Duration = .seconds(3600)
    /// The largest jitter, as a part of the pause.
    public static let backoffJitter = 0.5
    /// The pause before an operation with an unhandled name is claimed again, plus or minus half of it. Used only if
    /// the queue has unhandled operations of `unhandledNames` other names.
    public static let unknownNameDelay: Duration = .seconds(30)
    /// The largest number of different names among a queue's unhandled operations.
    public static let unhandledNames = 1000
    /// How many of these names a worker sends with one claim.
    package static let unhandledNamesClaimed = 50

    /// How long an operation snoozes if its program ends with exit code 75 and sets no pause.
    public static let programSnooze: Duration = .seconds(30)

    /// The time in a run after which `iterate` leaves its slot to operations that wait.
    public static let slice: Duration = .seconds(300)

    // Running
    /// How many operations a worker or a local queue executes at once.
    public static let slots = 10
    /// How long an operation may take to end after a cancel.
    public static let cancelGrace: Duration = .seconds(10)
    /// How long a stopping worker waits for its running operations.
    public static let drainTimeout: Duration = .seconds(30)
    /// The run timeout of `exec`, `http` and `download`. Users' own types have none.
    public static let externalRunTimeout: Duration = .seconds(3600)

    // Sizes, in bytes
    /// The most bytes of an operation's header and envelope.
    public static let operationBytes = 1 << 20
    /// Larger operations cause a warning: store the data elsewhere and pass its address.
    public static let operationWarningBytes = 64 << 10
    /// The most bytes of a result.
    public static let resultBytes = 1 << 20
    /// The most bytes of a checkpoint.
    public static let checkpointBytes = 64 << 10
    /// The most bytes of a snooze's reason; a longer one is cut.
    public static let snoozeReasonBytes = 500
    /// The most labels of `once` in an operation.
    public static let onceLabels = 64
    /// The most bytes of an operation's labels and results of `once` together.
    public static let onceBytes = 64 << 10
    /// The most bytes of an error's message; a longer one is cut.
    public static let errorBytes = 4 << 10
    /// How many of its latest errors an operation keeps.
    public static let errorsKept = 10
    /// The most tags of an operation.
    public static let tags = 16
    /// The most bytes of a tag.
    public static let tagBytes = 64
    /// The most headers of an operation.
    public static let headers = 32
    /// The most bytes of a header's value.
    public static let headerBytes = 1 << 10
    /// The most bytes of an operation's headers, names and values together.
    public static let headersBytes = 4 << 10
    /// The most lines of an operation's log; the latest are kept.
    public static let logLines = 1000
    /// The most bytes of an operation's log.
    public static let logBytes = 256 << 10
    /// The most bytes of one line of a log.
    public static let logLineBytes = 4 << 10
    /// How deep arrays and objects of arguments may be nested.
    public static let jsonDepth = 64

    // Intervals and batches
    /// The least time between two writes of an operation's progress.
    public static let reportInterval: Duration = .milliseconds(250)
    /// The most operations in one script call.
    public static let batch = 500
    /// The most tracked operations that one script call claims or ends. A tracked operation costs several times as much
    /// as an untracked one, and a call should take Redis less than 5 ms.
    public static let trackedBatch = 100

    // Retention: age in milliseconds and number of operations per queue
    /// How long, and how many, ended operations are kept in each queue, by state.
    package static let retention: [OperationState: (ageMilliseconds: Int64, count: Int)] = [
        .finished: (3_600_000, 100_000),
        .cancelled: (86_400_000, 10_000),
        .expired: (86_400_000, 10_000),
        .dead: (90 * 86_400_000, 100_000),
    ]
}
