import Hummingbird
import NIOPosix
import SluiceTelemetry
import SluiceWorker

@main struct App {
    static func main() async throws {
        // Bootstrap your backends of swift-metrics and swift-distributed-tracing here.
        let port = Environment().get("PORT", as: Int.self) ?? 8080
        try await server(.fromEnvironment(otherwise: .embedded), port: port).runService()
    }

    /// SIGTERM stops the server first, then drains the worker, and closes the client last.
    static func server(_ configuration: SluiceConfiguration, port: Int) throws -> some ApplicationProtocol {
        let threads = MultiThreadedEventLoopGroup(numberOfThreads: 2)
        var configuration = configuration
        configuration.eventLoopGroup = threads
        configuration.middleware = [OperationTracingMiddleware(), OperationMetricsMiddleware(), Tenants()]
        let sluice = try SluiceClient(configuration: configuration)
        let working = WorkerConfiguration(queues: ["greetings"], slots: 4)
        let worker = Worker(client: sluice, configuration: working) { $0.register(Greeting.self) }
        let router = Router()
        router.add(middleware: TracingMiddleware())
        router.add(middleware: MetricsMiddleware())
        router.add(middleware: TenantOfRequest())
        router.post("greetings/:name") { _, context in
            let greeting = Greeting(name: try context.parameters.require("name"))
            return try await sluice.enqueue(greeting, .queue("greetings")).id.description
        }
        router.get("results/:id") { _, context in
            let id = try context.parameters.require("id", as: OperationID.self)
            return try await sluice.handle(id, of: Greeting.self, queue: "greetings").value(timeout: .seconds(30))
        }
        let address = ApplicationConfiguration(address: .hostname("127.0.0.1", port: port))
        var app = Application(router: router, configuration: address, eventLoopGroupProvider: .shared(threads))
        app.addServices(sluice, worker)
        return app
    }
}
