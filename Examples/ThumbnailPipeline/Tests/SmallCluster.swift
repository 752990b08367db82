import ExampleTesting
import Logging
import SluiceWorker
import TestTools

/// A producer and a worker with four slots, with separate connections to a real Redis.
struct SmallCluster {
    let sluice: SluiceClient
    private let worker: Worker
    private let run: Task<Void, any Error>

    init(queues: QueueSelection, register: (inout OperationRegistry) -> Void) async throws {
        let logger = Logger(label: "examples") { _ in SwiftLogNoOpLogHandler() }
        sluice = try await ExampleRedis.client(namespace: uniqueNamespace("examples"))
        worker = Worker(
            client: sluice,
            configuration: .init(queues: queues, slots: 4),
            logger: logger,
            register: register
        )
        run = Task { [worker] in try await worker.run() }
    }

    func end() async throws {
        worker.stop()
        try await run.value
        await sluice.close()
    }
}
