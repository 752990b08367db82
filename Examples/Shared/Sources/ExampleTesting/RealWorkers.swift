import Foundation
import Sluice
import TestTools
import Testing

/// A namespace in a real Redis, with a client and worker processes.
public struct RealWorkers: Sendable {
    public let sluice: SluiceClient
    private let namespace = uniqueNamespace("examples")

    public init() async throws { sluice = try await ExampleRedis.client(namespace: namespace) }

    /// Starts a program that works or enqueues.
    ///
    /// - Parameter url: the URL of Redis; nil = the direct one.
    public func start(_ program: String, _ arguments: String..., url: String? = nil) throws -> Program {
        let environment = ["SLUICE_REDIS_URL": url ?? ExampleRedis.url, "SLUICE_NAMESPACE": namespace]
        return try Program(program, arguments, environment: environment)
    }

    /// Closes the client.
    public func close() async { await sluice.close() }

    public func awaitWorkers(_ count: Int, queue: String = SluiceDefaults.queue) async throws {
        try await eventually("\(count) workers serve \(queue)") {
            try await sluice.statistics(queue: queue).liveWorkers == count
        }
    }

    /// Returns the number of operations recovered from lost workers.
    public func recovered(queue: String = SluiceDefaults.queue) async throws -> Int64 {
        try await sluice.statistics(queue: queue)[total: .recovered]
    }
}

extension Program {
    public func kill() async {
        send(SIGKILL)
        #expect(await outcome().code == 128 + SIGKILL)
    }

    /// Stops a worker with SIGTERM, as a deployment does.
    public func stop() async {
        send(SIGTERM)
        let outcome = await outcome()
        #expect(outcome.code == 0, "\(outcome.output)\(outcome.errors)")
    }
}
