import Logging
import NIOCore
import NIOPosix
import Synchronization

/// Ends connections to the old master when sentinels report a new one.
///
/// After a failover, an old master that is still alive accepts writes for seconds, until the sentinels make it a
/// replica. Such writes are lost. All connections of a process through the same sentinels share one watch.
final class SentinelWatch: Sendable {
    typealias Host = RedisEndpoint.Host
    private typealias Watched = (connection: RedisConnection, host: Host)
    private static let channel = "+switch-master"
    private static let all = Mutex<[String: SentinelWatch]>([:])

    private let key: String
    private let master: String
    private let sentinels: [RedisConnector]
    private let eventLoop: any EventLoop
    private let subscribers: [RedisSubscriber]
    private let review = Mutex(Review())
    private let connections = Mutex<[ObjectIdentifier: Watched]>([:])

    /// Watches over a connection until it ends.
    ///
    /// - Parameters:
    ///   - sentinels: the search's connections to them.
    ///   - master: the master's name in the sentinels' configuration.
    static func begin(
        over connection: RedisConnection,
        to host: Host,
        sentinels: [RedisConnector],
        master: String
    ) {
        let key = sentinels.map(\.endpoint.description).joined(separator: ",") + "/" + master
        let watch = all.withLock { all in
            let watch = all[key] ?? SentinelWatch(key, sentinels, master)
            all[key] = watch
            watch.connections.withLock { $0[ObjectIdentifier(connection)] = (connection, host) }
            return watch
        }
        connection.closeFuture.whenComplete { _ in watch.forget(connection) }
    }

    private struct Review {
        var isUnderWay = false
        /// Whether a message was missed since the poll began.
        var isWanted = false
    }

    private init(_ key: String, _ sentinels: [RedisConnector], _ master: String) {
        self.key = key
        self.master = master
        // A connection's own loop may end before the watch.
        let eventLoop = MultiThreadedEventLoopGroup.singleton.any()
        self.eventLoop = eventLoop
        self.sentinels = sentinels
        subscribers = sentinels.map {
            RedisSubscriber($0.endpoint, configuration: $0.configuration, on: eventLoop, logger: $0.logger)
        }
        for subscriber in subscribers {
            subscriber.subscribe([Self.channel])
            Task { [weak self] in
                for await event in subscriber.events {
                    switch event {
                    case .message(_, let payload): self?.hear(String(decoding: payload, as: UTF8.self))
                    // Messages in between are lost.
                    case .subscribed, .overflow: self?.ask()
                    case .refused(_, let error):
                        sentinels[0].logger.warning(
                            "a failover is noticed only when the old master fails: a sentinel refuses SUBSCRIBE",
                            metadata: ["sentinel": "\(subscriber.endpoint)", "error": "\(error.message)"]
                        )
                    case .disconnected, .accepted: break
                    }
                }
            }
        }
    }

    /// `name old-address old-port new-address new-port`
    private func hear(_ message: String) {
        let words = message.split(separator: " ").map(String.init)
        guard words.count == 5, words[0] == master, let port = Int(words[4]) else { return }
        leaveAll(but: Host(words[3], port: port))
    }

    /// Asks for the master, or once more if a poll is running.
    private func ask() {
        let isFirst = review.withLock { review in
            defer { (review.isWanted, review.isUnderWay) = (review.isUnderWay, true) }
            return !review.isUnderWay
        }
        guard isFirst else { return }
        eventLoop.execute {
            var poll: SentinelPoll?
            poll = SentinelPoll(self.sentinels, master: self.master, on: self.eventLoop) { _, _ in
            } changed: {
                guard let vote = poll?.vote else { return }
                poll = nil
                self.judge(vote)
            }
            poll?.run()
        }
    }

    private func judge(_ vote: SentinelVote) {
        // A minority of the sentinels is no reason to leave a working master.
        if let master = vote.majority { leaveAll(but: master) }
        let isWanted = review.withLock { review in
            review.isUnderWay = false
            return review.isWanted
        }
        if isWanted { ask() }
    }

    private func leaveAll(but new: Host) {
        let old = connections.withLock { $0.values.filter { $0.host != new } }
        for watched in old { watched.connection.close() }
    }

    private func forget(_ connection: RedisConnection) {
        let isLast = Self.all.withLock { all in
            let isLast = connections.withLock { connections in
                connections[ObjectIdentifier(connection)] = nil
                return connections.isEmpty
            }
            if isLast, all[key] === self { all[key] = nil }
            return isLast
        }
        if isLast { for subscriber in subscribers { subscriber.close() } }
    }
}
