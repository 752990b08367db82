import BrokerModel
import Operations
import TestSupport
import Testing

@testable import WorkerRuntime

@Suite("The build of a worker", .timeLimit(.minutes(60)))
struct BuildTests {
    @Test("A worker reports its build, and its queue remembers when that was first seen")
    func reported() async throws {
        var configuration = WorkerConfiguration.quick()
        configuration.build = "2026.11.3"
        let harness = Harness(configuration: configuration)
        harness.start()
        #expect(
            await comesTrue {
                let workers = try? await harness.broker.snapshot(queue: "default", executingRows: 0).workers
                return workers?.first.flatMap { WorkerInfo($0.info) }?.build == "2026.11.3"
            }
        )
        #expect(try await harness.broker.builds(queue: "default").map(\.build) == ["2026.11.3"])
        try await harness.stop()
        #expect(try await harness.broker.builds(queue: "default").map(\.build) == ["2026.11.3"])
    }

    @Test("A worker without a build reports none")
    func none() async throws {
        let harness = Harness(configuration: .quick(burst: .ready))
        try await harness.worker.run()
        #expect(try await harness.broker.builds(queue: "default").isEmpty)
        #expect(harness.worker.core.info().build == nil)
    }
}
