import Logging
import NIOCore
import Synchronization

/// A connection that reconnects by itself until `close()`. In a cluster, a link has one connection for each node in
/// use, and sends each call to the node that has its key. Calls about one slot keep their order.
///
/// While the connection is down, calls wait in their order until their own deadlines, then fail as `unreachable` with
/// the tries in the message. A call with a lost reply fails as `closed` or `timeout` with an unknown outcome; the
/// link never sends it again. Replies that mean "not this server" (READONLY, LOADING, MASTERDOWN, UNBLOCKED …) reach
/// their caller and end the connection.
package final class RedisLink: Sendable {
    /// Work to do on each new connection before any call is sent.
    package typealias ConnectHook = @Sendable (RedisConnection) -> EventLoopFuture<Void>

    package var endpoint: RedisEndpoint { connector.endpoint }
    package let eventLoop: any EventLoop
    let configuration: RedisConnectionConfiguration
    let queue: CommandQueue
    private let connector: RedisConnector
    private let onConnect: ConnectHook?
    /// Called on the event loop: with nil when a connection was made, with the reason when one was lost or failed.
    private let onChange: (@Sendable (RedisError?) -> Void)?
    private let logger: Logger
    private let epochs = Atomic<Int>(0)
    private let connected = Atomic<Bool>(false)
    private let loop: NIOLoopBoundBox<LinkState>

    /// Makes a link, which starts to connect at once, or at its first call if the configuration says so.
    /// - Parameters:
    ///   - onConnect: runs on each connection before any call; a failure counts as a failed try.
    package convenience init(
        _ endpoint: RedisEndpoint,
        configuration: RedisConnectionConfiguration = RedisConnectionConfiguration(),
        on eventLoop: any EventLoop,
        logger: Logger,
        onConnect: ConnectHook? = nil
    ) {
        self.init(
            endpoint,
            configuration: configuration,
            on: eventLoop,
            logger: logger,
            onConnect: onConnect,
            onChange: nil
        )
    }

    /// - Parameter onChange: called on the event loop: with nil for each new connection, with the reason for each
    ///   connection that was lost or failed.
    init(
        _ endpoint: RedisEndpoint,
        configuration: RedisConnectionConfiguration,
        on eventLoop: any EventLoop,
        logger: Logger,
        onConnect: ConnectHook?,
        onChange: (@Sendable (RedisError?) -> Void)?
    ) {
        self.eventLoop = eventLoop
        self.onChange = onChange
        self.configuration = configuration
        self.onConnect = onConnect
        self.logger = logger
        connector = RedisConnector(endpoint: endpoint, configuration: configuration, logger: logger)
        queue = CommandQueue(eventLoop: eventLoop, limits: configuration.queueLimits)
        loop = NIOLoopBoundBox.makeBoxSendingValue(LinkState(configuration), eventLoop: eventLoop)
        eventLoop.execute { self.begin() }
    }

    // MARK: Calls

    /// The number of the current connection, which grows with each new one; 0 before the first.
    package var epoch: Int { epochs.load(ordering: .acquiring) }

    /// Whether there is a connection; in a cluster, to any node.
    package var isConnected: Bool { connected.load(ordering: .acquiring) }

    /// See ``RedisConnection/submit(_:deadline:)-(RedisCommand,_)``.
    package func submit(_ command: RedisCommand, deadline: Duration? = nil) -> EventLoopFuture<RedisValue> {
        queue.submit(.command(command), configuration.deadline(deadline))
    }

    package func submit(_ commands: [RedisCommand], deadline: Duration? = nil) -> EventLoopFuture<[RedisValue]> {
        queue.submit(all: commands, configuration.deadline(deadline))
    }

    /// Sends a command whose reply is passed to a closure. Waits for room instead of failing as `overloaded`.
    /// - Parameter done: called once, on the event loop or in `close()`, before the outcome of any later call is
    ///   delivered.
    package func submit(
        _ command: RedisCommand,
        deadline: Duration? = nil,
        done: @escaping @Sendable (Result<RedisValue, RedisError>) -> Void
    ) {
        let submission = Submission(
            payload: .command(command),
            sink: .callback(done),
            deadline: configuration.deadline(deadline)
        )
        queue.enqueue(submission, mayWait: true)
    }

    @discardableResult
    package func send(_ command: RedisCommand, deadline: Duration? = nil) async throws -> RedisValue {
        try await queue.send(.command(command), configuration.deadline(deadline))
    }

    @discardableResult
    package func send(_ commands: [RedisCommand], deadline: Duration? = nil) async throws -> [RedisValue] {
        try await queue.send(all: commands, configuration.deadline(deadline))
    }

    /// Ends the link for good. Waiting and unanswered calls fail as `closed`.
    package func close() {
        let error = RedisError(.closed, "the link to Redis was closed", endpoint: endpoint.description)
        queue.close(error)
        eventLoop.execute { self.end(error) }
    }

    // MARK: Supervision (event loop)

    private func begin() {
        queue.explainAbsence { self.absence() }
        if configuration.connectsAtOnce { return connect() }
        queue.onFirstUse { self.connect() }
    }

    private func connect() {
        guard case .down = loop.value.phase else { return }
        loop.value.tries += 1
        if endpoint.isCluster { return findCluster() }
        connector.connect(on: eventLoop)
            .flatMap { connection in self.prepare(connection) }
            .whenComplete { result in
                switch result {
                case .success(let connection): self.come(up: connection)
                case .failure(let error): self.failed(ConnectFailure.describe(error, during: .connect))
                }
            }
    }

    private func prepare(_ connection: RedisConnection) -> EventLoopFuture<RedisConnection> {
        (onConnect?(connection) ?? eventLoop.makeSucceededVoidFuture())
            .map { connection }
            .flatMapErrorThrowing { error in
                connection.close()
                throw error
            }
    }

    private func come(up connection: RedisConnection) {
        guard case .down = loop.value.phase, connection.handler.failure == nil else {
            connection.close()
            return failed(connection.handler.failure ?? RedisError(.closed, "the link to Redis was closed"))
        }
        loop.value.rise(connection)
        let epoch = epochs.add(1, ordering: .acquiringAndReleasing).newValue
        connected.store(true, ordering: .releasing)
        // The first connection is expected; a later one ends an outage.
        logger.log(
            level: epoch == 1 || isNode ? .debug : .info,
            "connected to Redis",
            metadata: ["redis": "\(endpoint)", "epoch": "\(epoch)"]
        )
        if isNode, configuration.outages?.end(of: "\(endpoint)") == true {
            logger.notice("the client reaches a node of the cluster again", metadata: ["redis": "\(endpoint)"])
        }
        onChange?(nil)
        connection.handler.onRefusal = { self.leave(connection, because: RedisError(server: $0)) }
        connection.closeFuture.whenComplete { _ in
            self.leave(connection, because: connection.handler.failure ?? RedisError(.closed, "the connection ended"))
        }
        queue.attach(.connection(connection.handler))
    }

    /// Stops using the current connection: its unanswered calls end, and new calls wait for the next one.
    private func leave(_ connection: RedisConnection, because error: RedisError) {
        guard case .up(let current, _) = loop.value.phase, current === connection else { return }
        queue.detach()
        connected.store(false, ordering: .releasing)
        loop.value.fall()
        connection.handler.retire()
        failed(error)
    }

    private func failed(_ error: RedisError) {
        guard case .down = loop.value.phase else { return }
        let pause = loop.value.noteFailure(error)
        if isNode, configuration.outages?.begin(of: "\(endpoint)") == true {
            logger.warning(
                "the client cannot reach a node of the cluster and tries again",
                metadata: ["redis": "\(endpoint)", "error": "\(error.message)"]
            )
        }
        logger.log(
            level: loop.value.policy.isNoteworthy && !(isNode && configuration.outages != nil) ? .warning : .debug,
            "no connection to Redis",
            metadata: [
                "redis": "\(endpoint)", "error": "\(error.message)", "tries": "\(loop.value.tries)",
                "nextTryIn": "\(pause)",
            ]
        )
        if configuration.failsFastWhenRefused, error.isRefusal { queue.failHeld(error) }
        loop.value.retry = eventLoop.scheduleTask(in: TimeAmount(pause)) { self.connect() }
        queue.pump()
        onChange?(error)
    }

    private func end(_ error: RedisError) {
        loop.value.retry?.cancel()
        switch loop.value.phase {
        case .up(let connection, _):
            queue.detach()
            connection.handler.giveUp(error)
        case .routing(let router):
            queue.detach()
            router.close(error)
        case .down, .closed: break
        }
        connected.store(false, ordering: .releasing)
        loop.value.phase = .closed
    }

    /// Whether a cluster's router made this link.
    private var isNode: Bool { onChange != nil }

    // MARK: A cluster (event loop)

    private func findCluster() {
        if let map = ClusterSearch.lastMap(of: endpoint) { return route(map) }
        ClusterSearch(connector, on: eventLoop).run().assumeIsolated().whenComplete { result in
            switch result {
            case .success(let found):
                found.connection.close()
                self.route(found.map)
            case .failure(let error): self.failed(ConnectFailure.describe(error, during: .connect))
            }
        }
    }

    private func route(_ map: SlotMap) {
        guard case .down = loop.value.phase else { return }
        var configuration = configuration
        configuration.connectsAtOnce = true
        let router = ClusterRouter(map, connector: connector, on: eventLoop) { [configuration] endpoint, onChange in
            RedisLink(
                endpoint,
                configuration: configuration,
                on: self.eventLoop,
                logger: self.logger,
                onConnect: self.onConnect,
                onChange: onChange
            )
        } changed: { isConnected in
            if isConnected { self.epochs.add(1, ordering: .acquiringAndReleasing) }
            self.connected.store(isConnected, ordering: .releasing)
        }
        loop.value.phase = .routing(router)
        queue.attach(.cluster(router))
    }

    /// The map of slots, empty until the cluster is found. Used on the event loop.
    var clusterMap: SlotMap {
        guard case .routing(let router) = loop.value.phase else { return SlotMap() }
        return router.map
    }

    /// On the event loop: see ``ClusterRouter/absence(of:)``.
    func absence(of slot: UInt16) -> EventLoopFuture<(node: String, error: RedisError)?> {
        guard case .routing(let router) = loop.value.phase else { return eventLoop.makeSucceededFuture(nil) }
        return router.absence(of: slot)
    }

    /// Why the last try to connect failed; nil while connected. Used on the event loop.
    var lastFailure: RedisError? {
        guard case .down = loop.value.phase else { return nil }
        return loop.value.lastFailure
    }

    private func absence() -> RedisError { loop.value.absence(endpoint: endpoint.description, connector.wait) }
}

extension RedisError {
    /// Whether each further try fails as well until an operator changes something.
    var isRefusal: Bool {
        switch code {
        case .authentication, .permission, .tls, .badURL: true
        default: false
        }
    }
}
