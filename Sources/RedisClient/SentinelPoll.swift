import NIOCore

/// Asks all sentinels at once for the master. Runs on one event loop.
final class SentinelPoll {
    typealias Host = RedisEndpoint.Host
    /// How long to wait for the others after the first answer. A sentinel that is cut off often answers first.
    private static let patience: TimeAmount = .milliseconds(500)
    /// How long to wait if most sentinels agree. A sentinel that leads a failover is ahead of the others for moments.
    private static let patienceInAgreement: TimeAmount = .milliseconds(50)

    private let sentinels: [RedisConnector]
    private let master: String
    private let eventLoop: any EventLoop
    private var failed: (any Error, RedisConnector) -> Void
    private var changed: () -> Void
    private(set) var vote: SentinelVote
    /// The sentinels that name each master.
    private(set) var namers: [Host: [Host]] = [:]
    /// Whether enough sentinels have answered, or the wait for the others is over.
    private(set) var isReady = false
    private var timers: [Scheduled<Void>] = []

    /// - Parameters:
    ///   - sentinels: connections to them.
    ///   - master: the master's name in the sentinels' configuration.
    ///   - failed: called for each sentinel that names no master.
    ///   - changed: called when the poll becomes ready, and for each later answer.
    init(
        _ sentinels: [RedisConnector],
        master: String,
        on eventLoop: any EventLoop,
        failed: @escaping (any Error, RedisConnector) -> Void,
        changed: @escaping () -> Void
    ) {
        self.sentinels = sentinels
        self.master = master
        self.eventLoop = eventLoop
        self.failed = failed
        self.changed = changed
        vote = SentinelVote(sentinelCount: sentinels.count)
    }

    func run() {
        for sentinel in sentinels {
            ask(sentinel).assumeIsolated().whenComplete { result in
                switch result {
                case .success(let answer):
                    self.vote.add(answer.host, epoch: answer.epoch)
                    if let host = sentinel.endpoint.firstHost { self.namers[answer.host, default: []].append(host) }
                case .failure(let error):
                    self.vote.addNothing()
                    self.failed(error, sentinel)
                }
                self.proceed()
            }
        }
    }

    private func proceed() {
        if vote.isComplete { beReady() }
        if isReady { changed() }
        if vote.isComplete { letGo() }
        guard !isReady else { return }
        if timers.isEmpty, !vote.ranking.isEmpty { wait(Self.patience) }
        if timers.count == 1, vote.majority != nil { wait(Self.patienceInAgreement) }
    }

    private func wait(_ time: TimeAmount) {
        let timer = eventLoop.assumeIsolated().scheduleTask(in: time) {
            guard !self.isReady else { return }
            self.beReady()
            self.changed()
        }
        timers.append(timer)
    }

    private func beReady() {
        isReady = true
        for timer in timers { timer.cancel() }
    }

    /// Drops the closures, which hold this object.
    private func letGo() {
        failed = { _, _ in }
        changed = {}
    }

    private func ask(_ sentinel: RedisConnector) -> EventLoopFuture<(host: Host, epoch: Int)> {
        let master = master
        return sentinel.connectDirectly(on: eventLoop).flatMap { connection in
            connection.submit([
                RedisCommand("SENTINEL", "GET-MASTER-ADDR-BY-NAME", master), RedisCommand("SENTINEL", "MASTER", master),
            ]).always { _ in connection.close() }
        }.flatMapThrowing { replies in
            if let error = replies[0].error { throw RedisError(server: error) }
            guard let parts = replies[0].array, parts.count == 2, let name = parts[0].string, let port = parts[1].int
            else { throw RedisError(.unreachable, "it knows no master \"\(master)\"") }
            return (Host(name, port: port), Self.epoch(replies[1]))
        }
    }

    /// The epoch of the failover; 0 for old sentinels and users without permission, so that only votes count.
    private static func epoch(_ reply: RedisValue) -> Int {
        let words = reply.array ?? []
        guard let index = words.firstIndex(where: { $0.string == "config-epoch" }), index + 1 < words.count else {
            return 0
        }
        return words[index + 1].int ?? 0
    }
}
