import Logging
import NIOCore
import NIOPosix
import Synchronization

/// Hears from sentinels that another server has become the master, and ends the connections to the old one.
///
/// An old master that is still alive takes writes for seconds after a failover, until the sentinels make it a replica, and all of them are lost
/// then. There is one watch for all connections of a process through the same sentinels, as long as there is one of them.
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
    ///   - sentinels: ways to them, as a search has them.
    ///   - master: the name under which they know it.
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
        /// Something was missed since it began.
        var isWanted = false
    }

    private init(_ key: String, _ sentinels: [RedisConnector], _ master: String) {
        self.key = key
        self.master = master
        // Not a connection's own loop: it may end before the watch does.
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
                    // What was said in between is lost.
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

    /// Asks for the master, once more if that is under way.
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
        // Less than most of them are no reason to leave a master that works.
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
