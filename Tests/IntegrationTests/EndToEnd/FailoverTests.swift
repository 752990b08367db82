import Foundation
import Logging
import Sluice
import Synchronization
import TestSupport
import Testing

/// Workers and clients that reach Redis through sentinels.
@Suite(
    "A failover",
    .fewAtOnce,
    .enabled(if: TestRedis.isSingle, "sentinels watch one master; ClusterTests have a cluster's"),
    .timeLimit(.minutes(60))
)
struct FailoverTests {
    /// The operations that a replica has confirmed
    private final class Confirmed: Sendable {
        private let state = Mutex<[OperationID]>([])
        var ids: [OperationID] { state.withLock { $0 } }
        var count: Int { ids.count }
        func add(_ id: OperationID) { state.withLock { $0.append(id) } }
    }

    /// Enqueues operations until its task is cancelled.
    private static func produce(_ client: SluiceClient, _ confirmed: Confirmed) async {
        while !Task.isCancelled {
            let reference = try? await client.enqueue(name: "noop", .durability(.replicas(1)))
            if let reference, reference.isConfirmed == true { confirmed.add(reference.id) }
        }
    }

    @Test(
        "A failover loses no confirmed operation; worker and client continue without a restart"
    )
    func goesOn() async throws {
        let group = try await TestSentinels.start()
        defer { group.stop() }
        let installation = try Installation(url: group.url)
        let client = try await SluiceClient.test(
            TestUsers.url(group.url, as: .producer),
            namespace: installation.namespace,
            timeouts: .init()
        )
        let worker = try installation.worker()
        try await installation.awaitWorkers(1)
        let confirmed = Confirmed()
        let old = try group.master()
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { await Self.produce(client, confirmed) }
            try await eventually("there is work") { confirmed.count >= 50 }
            try await group.failOver()
            // The only other server must follow the new master before anything can be confirmed again.
            try await eventually("the old master follows") {
                (try? old.info("master_link_status")) == "up"
            }
            let before = confirmed.count
            try await eventually("the client goes on") { confirmed.count >= before + 50 }
            tasks.cancelAll()
        }
        let ids = confirmed.ids.map(\.description)
        try await installation.awaitStates("finished", of: ids)

        let second = try group.master()
        #expect(second !== old)
        second.crash()
        try await group.awaitMaster(otherThan: second)
        var last = ""
        try await eventually("the client enqueues again") {
            guard let reference = try? await client.enqueue(name: "noop") else { return false }
            last = reference.id.description
            return true
        }
        try await installation.awaitState("finished", of: last)
        let doctor = try await installation.sluice("doctor", "--deep")
        #expect(doctor.code == 0, "\(doctor.output) \(doctor.errors)")
        #expect(try await installation.counts().values.allSatisfy { $0 >= 0 })
        await client.close()
        worker.send(SIGTERM)
        #expect(await worker.outcome().code == 0)
    }
}
