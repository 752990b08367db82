import Logging
import NIOCore

/// One search for a master: asks all sentinels at once and connects to the first server they name that says itself that it is one.
///
/// Every connection is preceded by a search, so after a failover whatever broke finds the new master by connecting again. A sentinel
/// that has not heard of the failover yet names the old one: that says it is a replica, or does not answer, and the next name
/// counts. Lives on its event loop.
final class SentinelSearch {
    private typealias Host = RedisEndpoint.Sentinels.Host
    private let sentinels: RedisEndpoint.Sentinels
    private let connector: RedisConnector
    private let eventLoop: any EventLoop
    private let promise: EventLoopPromise<RedisConnection>
    /// Sentinels that have not answered.
    private var unanswered: Int
    private var candidates: [Host] = []
    private var tried: [Host] = []
    private var isTrying = false
    private var isOver = false
    private var failures: [String] = []
    /// What is more telling than that somebody could not be reached.
    private var refusal: RedisError?

    init(_ sentinels: RedisEndpoint.Sentinels, connector: RedisConnector, on eventLoop: any EventLoop) {
        self.sentinels = sentinels
        self.connector = connector
        self.eventLoop = eventLoop
        promise = eventLoop.makePromise()
        unanswered = sentinels.hosts.count
    }

    func run() -> EventLoopFuture<RedisConnection> {
        for host in sentinels.hosts {
            ask(host).assumeIsolated().whenComplete { result in
                self.unanswered -= 1
                switch result {
                case .success(let master): self.candidates.append(master)
                case .failure(let error): self.note(error, of: host)
                }
                self.proceed()
            }
        }
        return promise.futureResult
    }

    // MARK: Sentinels

    private func ask(_ host: Host) -> EventLoopFuture<Host> {
        let master = sentinels.master
        return connector(to: host, asSentinel: true).connectDirectly(on: eventLoop).flatMap { connection in
            connection.submit(RedisCommand("SENTINEL", "GET-MASTER-ADDR-BY-NAME", master)).always { _ in
                connection.close()
            }
        }.flatMapThrowing { reply in
            guard let parts = reply.array, parts.count == 2, let name = parts[0].string, let port = parts[1].int else {
                throw RedisError(.unreachable, "it knows no master \"\(master)\"")
            }
            return Host(name, port: port)
        }
    }

    private func connector(to host: Host, asSentinel: Bool) -> RedisConnector {
        var connector = connector
        connector.endpoint.address = .tcp(host: host.name, port: host.port)
        guard asSentinel else { return connector }
        connector.endpoint.user = sentinels.user
        connector.endpoint.password = sentinels.password
        connector.endpoint.database = 0
        connector.greetsWithPing = false
        return connector
    }

    // MARK: Masters

    private func proceed() {
        guard !isOver, !isTrying else { return }
        while let host = candidates.first {
            candidates.removeFirst()
            guard !tried.contains(host) else { continue }
            return attempt(host)
        }
        if unanswered == 0 { finish(.failure(failure)) }
    }

    private func attempt(_ host: Host) {
        tried.append(host)
        isTrying = true
        connector(to: host, asSentinel: false).connectDirectly(on: eventLoop)
            .flatMap { Self.checkRole(of: $0) }
            .assumeIsolated().whenComplete { result in
                self.isTrying = false
                switch result {
                case .success(let connection):
                    SentinelWatch.begin(
                        over: connection,
                        to: host,
                        sentinels: self.sentinels.hosts.map { self.connector(to: $0, asSentinel: true) },
                        master: self.sentinels.master
                    )
                    self.finish(.success(connection))
                case .failure(let error):
                    self.note(error, of: host)
                    self.proceed()
                }
            }
    }

    private static func checkRole(of connection: RedisConnection) -> EventLoopFuture<RedisConnection> {
        connection.submit([RedisCommand("ROLE")]).flatMapThrowing { replies in
            // A user who may not ask gets READONLY from a replica's first write, which ends the connection, too.
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

    private func note(_ error: any Error, of host: Host) {
        let error = ConnectFailure.describe(error, during: .connect)
        if error.isRefusal || error.serverError != nil { refusal = refusal ?? error }
        failures.append("\(host.name):\(host.port): \(error.message)")
    }

    private var failure: RedisError {
        if let refusal { return refusal }
        return RedisError(
            .unreachable,
            "the sentinels lead to no master \"\(sentinels.master)\": \(failures.joined(separator: "; "))",
            endpoint: connector.endpoint.description
        )
    }
}
