import Logging
import Operations

/// Relays ends from queues that may have no worker: looks at one random queue of the namespace about once a minute.
/// Queues that this worker serves are left out, because their heartbeats report ends to relay.
struct RelayLoop: Sendable {
    let core: WorkerCore
    /// Lists the queues of the namespace.
    let discover: @Sendable () async throws -> [String]
    var pause: Duration = .seconds(60)

    func run() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: pause * Double.random(in: 0.5...1.5))
            guard !Task.isCancelled else { return }
            await look()
        }
    }

    private func look() async {
        do {
            let own = Set(core.queueNames)
            guard let name = try await discover().filter({ !own.contains($0) }).randomElement() else { return }
            if let error = await core.broker.carryEnds(of: name).failure { throw error }
        } catch {
            core.logger.debug("ends were not relayed to other queues", metadata: ["error": "\(error)"])
        }
    }
}
