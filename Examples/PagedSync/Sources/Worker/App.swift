import ArgumentParser
import ContactSync
import Logging
import ServiceLifecycle
import SluiceWorker

/// A worker of `paged-sync --workers`. Start any number of workers; each one needs access to the folder of the store.
@main
struct App: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "paged-sync-worker",
        abstract: "Runs the syncs of \"paged-sync --workers\" and their accesses to the store.",
        discussion: "SLUICE_REDIS_URL names the Redis; without it, the embedded server is used."
    )

    @Option(name: .shortAndLong, help: ArgumentHelp("How many operations run at once, from 2.", valueName: "slots"))
    var concurrency = 4
    @Option(help: ArgumentHelp("After how long without a heartbeat the worker is lost.", valueName: "seconds"))
    var lease = 30

    func validate() throws {
        guard concurrency >= 2 else {
            throw ValidationError("a sync holds a slot while it waits for the store: 2 or more")
        }
        guard (1...3600).contains(lease) else { throw ValidationError("--lease takes 1 to 3600 seconds") }
    }

    func run() async throws {
        let sluice = try await SluiceClient.connect(.fromEnvironment(otherwise: .embedded))
        // Without this line, the syncs of this process access the store through a queue of this process.
        DatabaseQueue.use { try await sluice.enqueue($0, .queue("database")).endAsPart() }
        let configuration = WorkerConfiguration(
            // A sync waits in its slot for its accesses to the store, so the accesses have a slot of their own.
            queues: ["sync", QueueShare("database", reservedSlots: 1)],
            slots: concurrency,
            lease: .seconds(lease),
            // A sync that is given back continues with its page.
            drainTimeout: .seconds(5),
            endsWhenStopped: true
        )
        let worker = Worker(client: sluice, configuration: configuration) {
            $0.register(ContactsSync.self)
            $0.register(StoreAccess.self)
        }
        print("runs syncs and their accesses to the store, \(concurrency) at once")
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [
                    .init(service: sluice),
                    // `sluice workers stop` ends this program.
                    .init(service: worker, successTerminationBehavior: .gracefullyShutdownGroup),
                ],
                gracefulShutdownSignals: [.sigterm, .sigint],
                logger: Logger(label: "paged-sync-worker")
            )
        )
        try await group.run()
    }
}
