import NIOCore

/// How a connection behaves. Every default is visible here.
package struct RedisConnectionConfiguration: Sendable {
    /// Name resolution, TCP, TLS, AUTH and SELECT together.
    package var connectTimeout: Duration
    /// From `submit` to the reply, when the call names no deadline of its own.
    package var commandDeadline: Duration {
        didSet { commandPatience = TimeAmount(commandDeadline) }
    }
    /// The same for the event loop: each call needs it, and durations are slow to divide.
    private(set) var commandPatience: TimeAmount
    /// The first pause of a reconnecting link; doubles with every try.
    package var minimumBackoff: Duration
    /// The longest pause of a reconnecting link.
    package var maximumBackoff: Duration
    /// The largest reply, and the largest part of one that is held before it is complete.
    package var maxReplyBytes: Int
    /// The most elements that one array may announce.
    package var maxArrayElements: Int
    /// Commands that are waiting or unanswered; beyond it `submit` fails and `send` waits.
    package var maxPendingCommands: Int
    /// Bytes of those commands.
    package var maxPendingBytes: Int
    /// Shown by `CLIENT LIST`; nil leaves it unset.
    package var clientName: String?
    /// TCP keepalive: idle time before the first probe; nil switches it off.
    package var keepalive: Duration?
    /// TCP_USER_TIMEOUT: how long sent bytes may stay unacknowledged; nil leaves the system's (minutes).
    package var userTimeout: Duration?
    /// A subscriber that hears nothing for so long sends PING.
    package var pingInterval: Duration
    /// … and gives the connection up when nothing comes for this long after it.
    package var pingDeadline: Duration
    /// A link whose server refuses user, password, permission or certificate fails the waiting commands at once
    /// instead of at their deadlines. Right for a command line, wrong for a worker.
    package var failsFastWhenRefused: Bool
    /// Where links to nodes of a cluster note which are away, so that one of them logs it; nil = each logs for itself.
    package var outages: NodeOutages?

    package init(
        connectTimeout: Duration = .seconds(2),
        commandDeadline: Duration = .seconds(5),
        minimumBackoff: Duration = .milliseconds(50),
        maximumBackoff: Duration = .seconds(2),
        maxReplyBytes: Int = 64 << 20,
        maxArrayElements: Int = 1 << 20,
        maxPendingCommands: Int = 16_384,
        maxPendingBytes: Int = 64 << 20,
        clientName: String? = nil,
        keepalive: Duration? = .seconds(5),
        userTimeout: Duration? = .seconds(10),
        pingInterval: Duration = .seconds(8),
        pingDeadline: Duration = .seconds(2),
        failsFastWhenRefused: Bool = false,
        outages: NodeOutages? = nil
    ) {
        precondition(
            maxReplyBytes > 0 && maxReplyBytes < 1 << 30,
            "maxReplyBytes must be below 1 GiB (hiredis counts in Int32)"
        )
        precondition(
            maxPendingCommands > 0 && maxPendingBytes > 0,
            "at least one command must be allowed to be pending"
        )
        precondition(minimumBackoff > .zero && minimumBackoff <= maximumBackoff, "backoff runs from minimum to maximum")
        self.connectTimeout = connectTimeout
        self.commandDeadline = commandDeadline
        commandPatience = TimeAmount(commandDeadline)
        self.minimumBackoff = minimumBackoff
        self.maximumBackoff = maximumBackoff
        self.maxReplyBytes = maxReplyBytes
        self.maxArrayElements = maxArrayElements
        self.maxPendingCommands = maxPendingCommands
        self.maxPendingBytes = maxPendingBytes
        self.clientName = clientName
        self.keepalive = keepalive
        self.userTimeout = userTimeout
        self.pingInterval = pingInterval
        self.pingDeadline = pingDeadline
        self.failsFastWhenRefused = failsFastWhenRefused
        self.outages = outages
    }
}
