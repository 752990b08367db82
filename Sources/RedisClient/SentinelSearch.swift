import Logging
import NIOCore

/// One search for a master. Asks all sentinels at once and connects to the most credible server that itself reports to
/// be a master.
///
/// Each connection begins with a search, so a broken link finds the new master after a failover. A sentinel that has
/// not noticed the failover yet names the old master. That server reports to be a replica, or does not answer, and the
/// next name is tried. Runs on one event loop.
final class SentinelSearch {
    private typealias Host = RedisEndpoint.Host
    private let sentinels: RedisEndpoint.Sentinels
    private let connector: RedisConnector
    private let eventLoop: any EventLoop
    private let promise: EventLoopPromise<RedisConnection>
    private var poll: SentinelPoll?
    private var tried: [Host] = []
    private var isTrying = false
    private var isOver = false
    private var failures: [String] = []
    /// A refusal explains more than a server that could not be reached.
    private var refusal: RedisError?

    init(_ sentinels: RedisEndpoint.Sentinels, connector: RedisConnector, on eventLoop: any EventLoop) {
        self.sentinels = sentinels
        self.connector = connector
        self.eventLoop = eventLoop
        promise = eventLoop.makePromise()
    }

    func run() -> EventLoopFuture<RedisConnection> {
        let ways = ways
        connector.wait.now("the sentinels' answers", in: ways.map(\.wait))
        let poll = SentinelPoll(ways, master: sentinels.master, on: eventLoop) { error, sentinel in
            self.note(error, of: sentinel.endpoint)
        } changed: {
            self.proceed()
        }
        self.poll = poll
        poll.run()
        return promise.futureResult
    }

    // MARK: Connections to the sentinels

    private var ways: [RedisConnector] { sentinels.hosts.map { connector(to: $0, asSentinel: true) } }

    private func connector(to host: Host, asSentinel: Bool) -> RedisConnector {
        var connector = connector
        connector.endpoint.address = .tcp(host: host.name, port: host.port)
        connector.wait = ConnectWait()
        guard asSentinel else { return connector }
        connector.endpoint.user = sentinels.user
        connector.endpoint.password = sentinels.password
        connector.endpoint.database = 0
        connector.greetsWithPing = false
        return connector
    }

    // MARK: Masters

    private func proceed() {
        guard !isOver, !isTrying, let poll, poll.isReady else { return }
        if let host = poll.vote.ranking.first(where: { !tried.contains($0) }) { return attempt(host) }
        if poll.vote.isComplete { finish(.failure(failure)) }
    }

    private func attempt(_ host: Host) {
        tried.append(host)
        isTrying = true
        let way = connector(to: host, asSentinel: false)
        connector.wait.now("the master at \(host), named by sentinel \(namer(of: host))", in: [way.wait])
        way.connectDirectly(on: eventLoop)
            .flatMap { Self.checkRole(of: $0) }
            .assumeIsolated().whenComplete { result in
                self.isTrying = false
                switch result {
                case .success(let connection):
                    SentinelWatch.begin(
                        over: connection,
                        to: host,
                        sentinels: self.ways,
                        master: self.sentinels.master
                    )
                    self.finish(.success(connection))
                case .failure(let error):
                    self.note(error, of: way.endpoint, namedBy: self.namer(of: host))
                    self.proceed()
                }
            }
    }

    private func namer(of host: Host) -> String {
        poll?.namers[host]?.map(\.description).joined(separator: ", ") ?? ""
    }

    private static func checkRole(of connection: RedisConnection) -> EventLoopFuture<RedisConnection> {
        connection.submit([RedisCommand("ROLE")]).flatMapThrowing { replies in
            // A user without permission for ROLE gets READONLY from a replica's first write, which also ends the
            // connection.
            if let role = replies[0].array?.first?.string, role != "master" {
                throw RedisError(.unreachable, "it is a \(role) now: a failover is under way")
            }
            return connection
        }.flatMapErrorThrowing { error in
            connection.close()
            throw error
        }
    }

    private func finish(_ result: Result<RedisConnection, any Error>) {
        isOver = true
        promise.completeWith(result)
    }

    /// - Parameter sentinels: the sentinels that name the endpoint, if it is a master.
    private func note(_ error: any Error, of endpoint: RedisEndpoint, namedBy sentinels: String? = nil) {
        let error = ConnectFailure.describe(error, during: .connect)
        guard case .tcp(let name, let port) = endpoint.address else { return }
        if error.isRefusal || error.serverError != nil, refusal == nil {
            refusal = error
            // Sentinels and master have different passwords. The host shows which one is wrong.
            refusal?.message = "\(name):\(port): \(error.message)"
        }
        let origin = sentinels.map { " (the master named by sentinel \($0))" } ?? ""
        failures.append("\(name):\(port): \(error.message)\(origin)")
    }

    private var failure: RedisError {
        if let refusal { return refusal }
        return RedisError(
            .unreachable,
            "found no master \"\(sentinels.master)\" through the sentinels: \(failures.joined(separator: "; "))",
            endpoint: connector.endpoint.description
        )
    }
}
