import Logging
import RedisBroker
import Sluice
import SluiceWorker
import TestSupport

/// A producer and a worker with four slots, each with connections of its own to a real Redis.
struct SmallCluster {
    let sluice: SluiceClient
    private let worker: WorkerService
    private let run: Task<Void, any Error>

    init(register: (inout OperationRegistry) -> Void) async throws {
        let (namespace, endpoint) = (uniqueNamespace("examples"), TestServer.shared.endpoint)
        let logger = Logger(label: "examples") { _ in SwiftLogNoOpLogHandler() }
        var registry = OperationRegistry()
        register(&registry)
        let broker = RedisBroker(endpoint, configuration: .init(namespace: namespace), logger: logger)
        let configuration = WorkerConfiguration(slots: 4)
        worker = WorkerService(broker: broker, registry: registry, configuration: configuration, logger: logger)
        run = Task { [worker] in
            defer { broker.close() }
            try await worker.run()
        }
        sluice = try await SluiceClient.connect(to: endpoint.description, namespace: namespace, logger: logger)
    }

    func end() async throws {
        worker.stop()
        try await run.value
        await sluice.close()
    }
}
