import ExampleServer
import Logging
import ServiceLifecycle
import SluiceWorker

/// A server that answers requests, runs a clock and works on a queue, in one process. SIGTERM drains the worker first.
@main struct App {
    static func main() async throws {
        let sluice = try SluiceClient(configuration: .fromEnvironment(otherwise: .embedded))
        let worker = Worker(client: sluice, configuration: WorkerConfiguration(slots: 4)) { $0.register(Greeting.self) }
        let group = ServiceGroup(
            services: [sluice, worker, Web(sluice: sluice, worker: worker), Clock()],
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: Logger(label: "app")
        )
        try await group.run()
    }
}
