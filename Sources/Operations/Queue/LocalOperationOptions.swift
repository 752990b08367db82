import Foundation

/// How a local operation is to be run.
public struct LocalOperationOptions: Sendable {
    /// A name for people.
    public var name: String?
    /// How urgently it wants a slot.
    public var priority: OperationPriority
    /// The quality of service, which becomes the priority of its task; nil = the queue's.
    public var qualityOfService: QualityOfService?
    /// Longest time for one attempt; nil = no limit. At the limit the body's task is cancelled.
    public var runTimeout: Duration?
    /// How long a body that exceeded its limit may take to end. After that the operation is dead and its slot free, and whatever the
    /// body still does has no effect on either.
    public var grace: Duration
    /// What follows when the body throws.
    public var retry: LocalRetry?

    /// - Parameters:
    ///   - name: a name for people.
    ///   - priority: how urgently it wants a slot.
    ///   - qualityOfService: nil = the queue's.
    ///   - runTimeout: longest time for one attempt; nil = no limit.
    ///   - grace: time between the limit and giving up on the body.
    ///   - retry: what follows when the body throws; nil = in a local queue nothing, in a worker what it was registered with.
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
