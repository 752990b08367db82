import Foundation

/// The options of a local operation.
public struct LocalOperationOptions: Sendable {
    /// A name to show.
    public var name: String?
    /// The priority.
    public var priority: OperationPriority
    /// The quality of service, which becomes the priority of its task; nil = the queue's.
    public var qualityOfService: QualityOfService?
    /// Longest time for one attempt; nil = no limit. At the limit the body's task is cancelled.
    public var runTimeout: Duration?
    /// How long a body may take to end after its time limit. After that the operation is dead and its slot is free, whatever the body still
    /// does.
    public var grace: Duration
    /// What to do when the body throws.
    public var retry: LocalRetry?

    /// - Parameters:
    ///   - name: a name to show.
    ///   - priority: the priority.
    ///   - qualityOfService: nil = the queue's.
    ///   - runTimeout: longest time for one attempt; nil = no limit.
    ///   - grace: how long the body may take to end after the limit.
    ///   - retry: what to do when the body throws. Nil = no retry in a local queue, and the registered policy in a worker.
    public init(
        name: String? = nil,
        priority: OperationPriority = .normal,
        qualityOfService: QualityOfService? = nil,
        runTimeout: Duration? = nil,
        grace: Duration = Defaults.cancelGrace,
        retry: LocalRetry? = nil
    ) {
        self.name = name
        self.priority = priority
        self.qualityOfService = qualityOfService
        self.runTimeout = runTimeout
        self.grace = grace
        self.retry = retry
    }

    var needsAnnex: Bool { name != nil || runTimeout != nil || !(retry?.isNever ?? true) }
}

extension Annex {
    convenience init(_ options: LocalOperationOptions) {
        self.init()
        name = options.name
        runTimeout = options.runTimeout
        grace = options.grace
        retry = options.retry ?? .never
    }
}
