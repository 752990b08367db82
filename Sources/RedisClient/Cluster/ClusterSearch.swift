import Logging
import NIOCore
import Synchronization

/// One search for a cluster: asks several of its nodes at once which node has which slots.
///
/// Uses the first answer of a node that reports a working cluster, because a node that is cut off does not report one.
/// If no node does, uses the first map. Runs on one event loop.
final class ClusterSearch {
    typealias Host = RedisEndpoint.Host
    /// A node that answered. The receiver owns the connection.
    typealias Found = (map: SlotMap, host: Host, connection: RedisConnection)

    /// Nodes asked at once.
    private static let breadth = 3
    /// The last map of each cluster, by URL. A map names more nodes than the URL.
    private static let known = Mutex<[String: SlotMap]>([:])

    private let connector: RedisConnector
    private let eventLoop: any EventLoop
    private let promise: EventLoopPromise<Found>
    private var candidates: [Host]
    private var unanswered = 0
    private var waits: [Host: ConnectWait] = [:]
    private var second: Found?
    private var isOver = false
    private var failures: [String] = []
    /// A refusal explains more than a node that could not be reached.
    private var refusal: RedisError?

    init(_ connector: RedisConnector, on eventLoop: any EventLoop) {
        self.connector = connector
        self.eventLoop = eventLoop
        promise = eventLoop.makePromise()
        guard case .cluster(let seeds) = connector.endpoint.address else {
            preconditionFailure("a cluster search needs the endpoint of a cluster")
        }
        let known = Self.lastMap(of: connector.endpoint)?.hosts ?? []
        candidates = known.filter { !seeds.contains($0) }.shuffled() + seeds.shuffled()
    }

    static func lastMap(of endpoint: RedisEndpoint) -> SlotMap? { known.withLock { $0[endpoint.description] } }

    static func remember(_ map: SlotMap, of endpoint: RedisEndpoint) {
        known.withLock { $0[endpoint.description] = map }
    }

    func run() -> EventLoopFuture<Found> {
        for _ in 0..<Self.breadth { askNext() }
        return promise.futureResult
    }

    private func askNext() {
        guard !isOver, let host = candidates.popLast() else { return }
        unanswered += 1
        var connector = connector
        connector.endpoint = connector.endpoint.at(host)
        connector.wait = ConnectWait()
        waits[host] = connector.wait
        sayWaits()
        connector.connectDirectly(on: eventLoop)
            .flatMap { connection in Self.ask(connection).map { (connection, $0) } }
            .assumeIsolated().whenComplete { result in
                self.unanswered -= 1
                self.waits[host] = nil
                self.sayWaits()
                switch result {
                case .success((let connection, let replies)): self.take(replies, host, connection)
                case .failure(let error): self.note(error, host)
                }
                self.proceed()
            }
    }

    private func sayWaits() {
        connector.wait.now("a cluster node that returns the map of slots", in: Array(waits.values))
    }

    /// The commands that a map is read from.
    static let questions = [RedisCommand("CLUSTER", "SLOTS"), RedisCommand("CLUSTER", "INFO")]

    /// - Returns: the map, and whether the node reports a working cluster. A user without permission for CLUSTER INFO
    ///   counts as a yes.
    static func read(_ replies: [RedisValue], from host: Host) throws -> (map: SlotMap, isWhole: Bool) {
        if let error = replies[0].error { throw notOfCluster(error) }
        guard let map = SlotMap(replies[0], from: host) else {
            throw RedisError(.unreachable, "it knows no node with slots; see: redis-cli --cluster check")
        }
        return (map, replies[1].string?.contains("cluster_state:ok") ?? true)
    }

    private static func ask(_ connection: RedisConnection) -> EventLoopFuture<[RedisValue]> {
        connection.submit(questions, deadline: connection.configuration.connectTimeout)
            .flatMapErrorThrowing { error in
                connection.close()
                throw error
            }
    }

    private static func notOfCluster(_ error: RedisServerError) -> RedisError {
        var failure = RedisError(server: error)
        if error.message.contains("cluster support disabled") {
            failure.code = .badURL
            failure.message = "the server is not a cluster node: use redis:// instead of redis+cluster://"
        }
        return failure
    }

    private func take(_ replies: [RedisValue], _ host: Host, _ connection: RedisConnection) {
        do {
            let (map, isWhole) = try Self.read(replies, from: host)
            if isOver || (!isWhole && second != nil) { return connection.close() }
            if isWhole { finish((map, host, connection)) } else { second = (map, host, connection) }
        } catch {
            connection.close()
            note(error, host)
        }
    }

    private func proceed() {
        guard !isOver else { return }
        if unanswered < Self.breadth { askNext() }
        guard unanswered == 0 else { return }
        if let second {
            self.second = nil
            finish(second)
        } else {
            isOver = true
            promise.fail(failure)
        }
    }

    private func finish(_ found: Found) {
        isOver = true
        second?.connection.close()
        Self.remember(found.map, of: connector.endpoint)
        promise.succeed(found)
    }

    private func note(_ error: any Error, _ host: Host) {
        let error = ConnectFailure.describe(error, during: .connect)
        if error.isRefusal || error.serverError != nil { refusal = refusal ?? error }
        failures.append("\(host): \(error.message)")
    }

    private var failure: RedisError {
        if let refusal { return refusal }
        return RedisError(
            .unreachable,
            "no node of the cluster returned its slot map: \(failures.joined(separator: "; "))",
            endpoint: connector.endpoint.description
        )
    }
}
