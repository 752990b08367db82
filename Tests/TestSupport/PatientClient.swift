import Logging
import Operations
import RedisBroker
import RedisClient
import Sluice

extension SluiceConfiguration.Timeouts {
    /// The time limits of tests, so that a busy machine makes no call fail.
    package static let patient = Self(connect: .seconds(5), command: patience, enqueue: patience)
}

extension RedisConnectionConfiguration {
    /// The time limits of tests, so that a busy machine makes no call fail.
    package static let patient = Self(connectTimeout: patience, commandDeadline: patience)
}

extension RedisBrokerConfiguration {
    /// Returns the settings of tests, so that a busy machine makes no call fail.
    package static func patient(namespace: String = SluiceDefaults.namespace, testClock: Bool = false) -> Self {
        Self(
            namespace: namespace,
            commandDeadline: patience,
            enqueuePatience: patience,
            connectTimeout: patience,
            testClock: testClock
        )
    }
}

extension SluiceClient {
    /// Creates a client and waits until Redis answers.
    ///
    /// - Parameter timeouts: those of production in a test that waits for an error of a server that is away.
    package static func test(
        _ url: String,
        namespace: String,
        timeouts: SluiceConfiguration.Timeouts = .patient,
        buffering: EnqueueBuffering? = nil,
        logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    ) async throws -> SluiceClient {
        let configuration = SluiceConfiguration(
            .url(url),
            namespace: namespace,
            timeouts: timeouts,
            buffering: buffering
        )
        return try await SluiceClient(configuration: configuration, logger: logger).connected(within: patience)
    }
}
