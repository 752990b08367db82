import Foundation
import Logging
import Sluice
import TestSupport
import Testing

/// A namespace in a real Redis, with a client and worker processes.
struct RealWorkers {
    let sluice: SluiceClient
    private let namespace = uniqueNamespace("examples")

    init() async throws {
        sluice = try await SluiceClient.test(TestRedis.shared.url(as: .operator), namespace: namespace)
    }

    /// Starts a worker.
    ///
    /// - Parameter url: the URL of Redis; nil = the direct one.
    func worker(_ program: String, _ arguments: String..., url: String? = nil) throws -> Program {
        try Program(program, arguments, environment: environment(url ?? TestRedis.shared.url(as: .worker)))
    }

    /// Starts a program that enqueues.
    func producer(_ program: String, _ arguments: String...) throws -> Program {
        try Program(program, arguments, environment: environment(TestRedis.shared.url(as: .producer)))
    }

    /// Closes the client. Commands that Redis refused to users with minimal permissions are recorded as issues.
    func close() async {
        await sluice.close()
        for refusal in await TestUsers.refusals() { Issue.record("ACL LOG: \(refusal)") }
    }

    private func environment(_ url: String) -> [String: String] {
        ["SLUICE_REDIS_URL": url, "SLUICE_NAMESPACE": namespace]
    }

    func awaitWorkers(_ count: Int, queue: String = SluiceDefaults.queue) async throws {
        try await eventually("\(count) workers serve \(queue)") {
            try await sluice.statistics(queue: queue).liveWorkers == count
        }
    }

    /// Returns the number of operations recovered from lost workers.
    func recovered(queue: String = SluiceDefaults.queue) async throws -> Int64 {
        try await sluice.statistics(queue: queue)[total: .recovered]
    }
}

extension Program {
    func kill() async {
        send(SIGKILL)
        #expect(await outcome().code == 128 + SIGKILL)
    }

    /// Stops a worker with SIGTERM, as a deployment does.
    func stop() async {
        send(SIGTERM)
        let outcome = await outcome()
        #expect(outcome.code == 0, "\(outcome.output)\(outcome.errors)")
    }
}
