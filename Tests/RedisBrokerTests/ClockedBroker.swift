import Logging
import NIOPosix
import Operations
import RedisClient
import BrokerModel
import TestSupport

@testable import RedisBroker

/// A Redis broker in a separate namespace, whose scripts read the time from a key that the test writes.
struct ClockedBroker {
    let redis: RedisBroker
    /// A connection for commands that no broker sends.
    let direct: RedisLink
    let prefix: String
    /// The keys that hold the time, one for each queue.
    private let clockKeys: [String]
    let clock = ManualClock()

    init(
        queue: String,
        and others: [String] = [],
        namespace: String = uniqueNamespace("broker"),
        endpoint: RedisEndpoint = TestServer.shared.endpoint,
        scriptEdit: (@Sendable (String) -> String)? = nil
    ) async throws {
        var configuration = RedisBrokerConfiguration.patient(namespace: namespace, testClock: true)
        if let scriptEdit { configuration.scriptEdit = scriptEdit }
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        redis = RedisBroker(endpoint, configuration: configuration, logger: logger)
        direct = RedisLink(
            endpoint,
            configuration: .patient,
            on: MultiThreadedEventLoopGroup.singleton.any(),
            logger: logger
        )
        prefix = "{\(namespace)/\(queue)}:"
        clockKeys = ([queue] + others).map { "{\(namespace)/\($0)}:clock" }
        try await publishTime()
    }

    func advance(by duration: Duration) async throws {
        clock.advance(by: duration)
        try await publishTime()
    }

    private func publishTime() async throws {
        for key in clockKeys { try await direct.send(RedisCommand("SET", key, String(clock.now))).expectSuccess() }
    }

    func close() {
        redis.close()
        direct.close()
    }
}
