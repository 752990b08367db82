import NIOCore

/// The state of a link; changed on its event loop only.
struct LinkState {
    enum Phase {
        case down
        case up(RedisConnection, since: NIODeadline)
        /// A cluster: each node has a link of its own.
        case routing(ClusterRouter)
        case closed
    }

    var phase = Phase.down
    var retry: Scheduled<Void>?
    /// When the connection was lost (or the link was made).
    private(set) var downSince = NIODeadline.now()
    var tries = 0
    private(set) var lastFailure: RedisError?
    private(set) var policy: ReconnectPolicy

    init(_ configuration: RedisConnectionConfiguration) {
        policy = ReconnectPolicy(minimum: configuration.minimumBackoff, maximum: configuration.maximumBackoff)
    }

    mutating func rise(_ connection: RedisConnection) {
        phase = .up(connection, since: .now())
        tries = 0
    }

    mutating func fall() {
        guard case .up(_, let since) = phase else { return }
        let now = NIODeadline.now()
        policy.connectionEnded(afterLiving: .nanoseconds((now - since).nanoseconds))
        phase = .down
        downSince = now
    }

    /// - Returns: the pause before the next try.
    mutating func noteFailure(_ error: RedisError) -> Duration {
        lastFailure = error
        return policy.nextPause(random: .random(in: 0..<1))
    }

    /// The error of a call whose deadline passed without a connection.
    ///
    /// - Parameter wait: what the current try waits for.
    func absence(endpoint: String, _ wait: ConnectWait) -> RedisError {
        let seconds = Double((NIODeadline.now() - downSince).nanoseconds) / 1e9
        let tenths = (seconds * 10).rounded() / 10
        let last = lastFailure.map { "; last: \($0.message)" } ?? "; it still waits for \(wait)"
        return RedisError(
            .unreachable,
            "no connection to Redis: \(tries) \(tries == 1 ? "try" : "tries") in \(tenths) s\(last)",
            cause: lastFailure,
            endpoint: endpoint
        )
    }
}
