import NIOCore

/// The settings of a connection, with all defaults.
package struct RedisConnectionConfiguration: Sendable {
    /// The limit for name resolution, TCP, TLS, AUTH and SELECT together.
    package var connectTimeout: Duration
    /// The limit from `submit` to the reply, for calls without a deadline of their own.
    package var commandDeadline: Duration {
        didSet { commandPatience = TimeAmount(commandDeadline) }
    }
    /// `commandDeadline` for the event loop. Stored because each call needs it, and a `Duration` is slow to divide.
    private(set) var commandPatience: TimeAmount
    /// The first pause of a reconnecting link. Each try doubles the pause.
    package var minimumBackoff: Duration
    /// The longest pause of a reconnecting link.
    package var maximumBackoff: Duration
    /// The largest reply, complete or in part.
    package var maxReplyBytes: Int
    /// The largest number of elements in an array.
    package var maxArrayElements: Int
    /// The limit of waiting or unanswered commands. Beyond it `submit` fails and `send` waits.
    package var maxPendingCommands: Int
    /// The limit of bytes of these commands.
    package var maxPendingBytes: Int
    /// Shown by `CLIENT LIST`; nil leaves it unset.
    package var clientName: String?
    /// TCP keepalive: idle time before the first probe; nil turns it off.
    package var keepalive: Duration?
    /// TCP_USER_TIMEOUT: how long sent bytes may stay unacknowledged; nil keeps the system's default (minutes).
    package var userTimeout: Duration?
    /// A subscriber sends PING after this long without a message.
    package var pingInterval: Duration
    /// A subscriber gives the connection up if no answer comes within this time after a PING.
    package var pingDeadline: Duration
    /// Whether commands fail at once, and not at their deadlines, if the server refuses user, password, permission or
    /// certificate. Right for a command line, wrong for a worker.
    package var failsFastWhenRefused: Bool
    /// Whether a link connects as soon as it is made, and not at its first call.
    package var connectsAtOnce: Bool
    /// Where links to cluster nodes note outages, so that one link logs each outage; nil = each link logs.
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
        connectsAtOnce: Bool = true,
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
        self.connectsAtOnce = connectsAtOnce
        self.outages = outages
    }
}
