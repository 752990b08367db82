import Foundation

/// The options of a local operation.
public struct LocalOperationOptions: Sendable {
    /// A name to display.
    public var name: String?
    /// The priority.
    public var priority: OperationPriority
    /// The quality of service, which sets the priority of the operation's task; nil = the queue's.
    public var qualityOfService: QualityOfService?
    /// The longest time for one attempt; nil = no limit. At the limit the body's task is cancelled.
    public var runTimeout: Duration?
    /// How long a body may take to end after its time limit. After the grace the operation is dead and its slot is
    /// free, even if the body still runs.
    public var grace: Duration
    /// The policy for an error of the body; nil = no retry in a local queue, and the registered policy in a worker.
    public var retry: LocalRetry?

    /// Makes the options of an operation.
    ///
    /// - Parameters:
    ///   - name: a name to display.
    ///   - priority: the priority.
    ///   - qualityOfService: the quality of service; nil = the queue's.
    ///   - runTimeout: the longest time for one attempt; nil = no limit.
    ///   - grace: how long the body may take to end after the limit.
    ///   - retry: the policy for an error of the body; nil = no retry in a local queue, and the registered policy in a
    ///     worker.
    public init(
        name: String? = nil,
        priority: OperationPriority = .normal,
        qualityOfService: QualityOfService? = nil,
        runTimeout: Duration? = nil,
        grace: Duration = SluiceDefaults.cancelGrace,
        retry: LocalRetry? = nil
    ) {
        self.name = name
        self.priority = priority
        self.qualityOfService = qualityOfService
        self.runTimeout = runTimeout
        self.grace = grace
        self.retry = retry
    }

    var needsExtras: Bool { name != nil || runTimeout != nil || !(retry?.isNever ?? true) }
}

extension OperationExtras {
    convenience init(_ options: LocalOperationOptions) {
        self.init()
        name = options.name
        runTimeout = options.runTimeout
        grace = options.grace
        retry = options.retry ?? .never
    }
}
