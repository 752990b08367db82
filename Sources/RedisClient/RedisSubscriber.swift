import Logging
import NIOCore

/// A pub/sub connection that reconnects and subscribes again by itself until `close()`.
///
/// Messages are lost while the subscriber is disconnected, as always with pub/sub. After each
/// ``Event/subscribed(epoch:)`` and ``Event/overflow``, the owner therefore reads the state that the messages are
/// about.
package final class RedisSubscriber: Sendable {
    package enum Event: Sendable, Equatable {
        case message(channel: String, payload: [UInt8])
        /// All wanted channels are subscribed on the connection with this number. Sent after each change as well.
        case subscribed(epoch: Int)
        case disconnected
        /// The reader was too slow and messages were dropped.
        case overflow
        /// Redis refuses this channel (its access control list). Sent once. The subscriber requests the channel again
        /// in place of each PING, and on each new connection, until Redis accepts it.
        case refused(channel: String, error: RedisServerError)
        /// Redis accepts a channel that it refused before; a `subscribed` event follows.
        case accepted(channel: String)
    }

    package var endpoint: RedisEndpoint { connector.endpoint }
    /// The events, for one reader. Ends after `close()`.
    package let events: AsyncStream<Event>
    private let eventLoop: any EventLoop
    private let connector: RedisConnector
    private let buffer: EventBuffer
    private let logger: Logger
    private let loop: NIOLoopBoundBox<SubscriberState>

    /// Makes a subscriber, which starts to connect at once.
    /// - Parameter bufferedEvents: how many events may wait for the reader before they are replaced by one `overflow`.
    package init(
        _ endpoint: RedisEndpoint,
        configuration: RedisConnectionConfiguration = RedisConnectionConfiguration(),
        on eventLoop: any EventLoop,
        bufferedEvents: Int = 4_096,
        logger: Logger
    ) {
        self.eventLoop = eventLoop
        self.logger = logger
        connector = RedisConnector(endpoint: endpoint, configuration: configuration, logger: logger)
        let buffer = EventBuffer(capacity: bufferedEvents)
        self.buffer = buffer
        events = AsyncStream {
            await buffer.next()
        } onCancel: {
            buffer.wakeReader()
        }
        loop = NIOLoopBoundBox.makeBoxSendingValue(SubscriberState(configuration), eventLoop: eventLoop)
        eventLoop.execute { self.connect() }
    }

    /// Adds channels. A `subscribed` event follows when Redis has confirmed them.
    package func subscribe(_ channels: [String]) {
        eventLoop.execute {
            let new = self.loop.value.want(channels)
            guard let handler = self.loop.value.connection?.handler else { return }
            if new.isEmpty, self.loop.value.isSettled {
                return self.buffer.put(.subscribed(epoch: self.loop.value.epoch))
            }
            self.request(new, handler)
        }
    }

    package func unsubscribe(_ channels: [String]) {
        eventLoop.execute {
            for channel in self.loop.value.unwant(channels) {
                guard let handler = self.loop.value.connection?.handler else { continue }
                self.loop.value.expected.append(.unsubscribe)
                handler.writeUnmatched(RedisCommand("UNSUBSCRIBE", channel))
            }
        }
    }

    package func close() {
        eventLoop.execute {
            self.loop.value.isClosed = true
            self.loop.value.timer?.cancel()
            self.loop.value.connection?.close()
            self.buffer.finish()
        }
    }

    // MARK: Supervision (event loop)

    private func connect() {
        guard !loop.value.isClosed else { return }
        connector.connect(on: eventLoop).whenComplete { result in
            switch result {
            case .success(let connection): self.come(up: connection)
            case .failure(let error): self.pause(because: error)
            }
        }
    }

    private func come(up connection: RedisConnection) {
        guard !loop.value.isClosed else { return connection.close() }
        loop.value.rise(connection)
        logger.log(
            level: loop.value.epoch == 1 ? .debug : .info,
            "subscriber connected",
            metadata: ["redis": "\(endpoint)", "epoch": "\(loop.value.epoch)"]
        )
        connection.handler.startPush { self.receive($0, on: connection) }
        connection.closeFuture.whenComplete { _ in self.leave(connection) }
        request(loop.value.wanted, connection.handler)
        watch(connection)
    }

    private func leave(_ connection: RedisConnection) {
        guard loop.value.connection === connection else { return }
        loop.value.fall()
        buffer.put(.disconnected)
        pause(because: connection.handler.failure ?? RedisError(.closed, "the connection ended"))
    }

    private func pause(because error: any Error) {
        guard !loop.value.isClosed else { return }
        let pause = loop.value.policy.nextPause(random: .random(in: 0..<1))
        logger.log(
            level: loop.value.policy.isNoteworthy ? .warning : .debug,
            "subscriber has no connection to Redis",
            metadata: ["redis": "\(endpoint)", "error": "\(error)", "nextTryIn": "\(pause)"]
        )
        loop.value.timer = eventLoop.scheduleTask(in: TimeAmount(pause)) { self.connect() }
    }

    private func request(_ channels: [String], _ handler: CommandHandler) {
        for channel in channels {
            loop.value.expected.append(.subscribe(channel))
            handler.writeUnmatched(RedisCommand("SUBSCRIBE", channel))
        }
    }

    // MARK: Replies (event loop)

    private func receive(_ value: RedisValue, on connection: RedisConnection) {
        guard loop.value.connection === connection else { return }
        loop.value.lastHeard = .now()
        if let parts = value.array, parts.count == 3, parts[0] == Self.messageKind {
            return buffer.put(.message(channel: parts[1].string ?? "", payload: parts[2].bytes ?? []))
        }
        if let error = value.error, error.code.demandsReconnect {
            return connection.handler.giveUp(RedisError(server: error))
        }
        answer(value)
    }

    /// All replies but messages answer this subscriber's commands, in their order.
    private func answer(_ value: RedisValue) {
        guard let expected = loop.value.expected.popFirst() else { return }
        switch (expected, value.error) {
        case (.subscribe(let channel), let error?):
            if loop.value.isNewlyRefused(channel) { buffer.put(.refused(channel: channel, error: error)) }
        case (.subscribe(let channel), nil):
            if loop.value.isNewlyAccepted(channel) { buffer.put(.accepted(channel: channel)) }
            loop.value.confirmed += 1
        default: return
        }
        guard loop.value.isSettled, loop.value.confirmed > 0 else { return }
        buffer.put(.subscribed(epoch: loop.value.epoch))
    }

    private static let messageKind = RedisValue.bytes(Array("message".utf8))

    // MARK: Silence (event loop)

    /// Notices by PING that the server is gone.
    private func watch(_ connection: RedisConnection) {
        let configuration = connector.configuration
        loop.value.timer = eventLoop.scheduleTask(
            deadline: loop.value.lastHeard + TimeAmount(configuration.pingInterval)
        ) {
            guard self.loop.value.connection === connection else { return }
            let silence = NIODeadline.now() - self.loop.value.lastHeard
            guard silence >= TimeAmount(configuration.pingInterval) else { return self.watch(connection) }
            self.ping(connection)
        }
    }

    private func ping(_ connection: RedisConnection) {
        let sent = NIODeadline.now()
        if loop.value.refused.isEmpty {
            loop.value.expected.append(.ping)
            connection.handler.writeUnmatched(RedisCommand("PING"))
        } else {
            // The answer also shows that Redis is alive, and the user's permissions may have changed.
            request(loop.value.refused.sorted(), connection.handler)
        }
        loop.value.timer = eventLoop.scheduleTask(in: TimeAmount(connector.configuration.pingDeadline)) {
            guard self.loop.value.connection === connection else { return }
            guard self.loop.value.lastHeard < sent else { return self.watch(connection) }
            connection.handler.giveUp(RedisError(.timeout, "Redis did not answer a PING of the subscriber"))
        }
    }
}

/// The state of a subscriber; changed on its event loop only.
struct SubscriberState {
    /// The command that the next reply answers, unless the reply is a message.
    enum Expectation {
        case subscribe(String), unsubscribe, ping
    }

    private(set) var wanted: [String] = []
    private(set) var connection: RedisConnection?
    private(set) var epoch = 0
    private var connectedAt = NIODeadline.now()
    var expected = CircularBuffer<Expectation>()
    var confirmed = 0
    /// Channels that Redis refused at the last request.
    private(set) var refused: Set<String> = []
    var lastHeard = NIODeadline.now()
    var timer: Scheduled<Void>?
    var policy: ReconnectPolicy
    var isClosed = false

    init(_ configuration: RedisConnectionConfiguration) {
        policy = ReconnectPolicy(minimum: configuration.minimumBackoff, maximum: configuration.maximumBackoff)
    }

    /// Whether each SUBSCRIBE was answered.
    var isSettled: Bool {
        !expected.contains { if case .subscribe = $0 { true } else { false } }
    }

    mutating func want(_ channels: [String]) -> [String] {
        let new = channels.filter { !wanted.contains($0) }
        wanted += new
        return new
    }

    /// Notes a refusal. Returns false for a channel that was refused before or is no longer wanted.
    mutating func isNewlyRefused(_ channel: String) -> Bool {
        wanted.contains(channel) && refused.insert(channel).inserted
    }

    mutating func isNewlyAccepted(_ channel: String) -> Bool { refused.remove(channel) != nil }

    mutating func unwant(_ channels: [String]) -> [String] {
        let gone = wanted.filter(channels.contains)
        wanted.removeAll(where: channels.contains)
        refused.subtract(channels)
        return gone
    }

    mutating func rise(_ connection: RedisConnection) {
        self.connection = connection
        epoch += 1
        confirmed = 0
        expected.removeAll()
        connectedAt = .now()
        lastHeard = connectedAt
    }

    mutating func fall() {
        connection = nil
        timer?.cancel()
        policy.connectionEnded(afterLiving: .nanoseconds((NIODeadline.now() - connectedAt).nanoseconds))
    }
}
