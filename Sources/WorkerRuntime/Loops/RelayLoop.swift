import Logging
import Operations

/// Relays the ends of operations to other queues with dependents.
///
/// Runs apart from the sweeper: a queue that is away must not delay the recovery of lost operations.
struct RelayLoop: Sendable {
    private static let jitter: ClosedRange<Double> = 0...0.01
    let core: WorkerCore
    /// Lists the queues of the namespace; nil = this worker relays for its own queues only.
    var discover: (@Sendable () async throws -> [String])?
    /// The mean time between two looks at a queue that this worker does not serve.
    var pause: Duration = .seconds(60)

    func run() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await relayRequested() }
            if let discover { group.addTask { await relayUnserved(discover) } }
        }
    }

    /// Relays the ends of all queues that heartbeats and messages have named.
    func runOnce() async {
        for name in core.relays.take() where !Task.isCancelled {
            guard let error = await core.broker.relayEnds(of: name).failure else { continue }
            core.logger.info(
                "ends were not relayed to other queues; the next heartbeat tries again",
                metadata: ["queue": "\(name)", "error": "\(error)"]
            )
        }
    }

    private func relayRequested() async {
        while !Task.isCancelled {
            await core.relays.signal.wait()
            try? await Task.sleep(for: .seconds(Double.random(in: Self.jitter)))
            await runOnce()
        }
    }

    /// Looks at one random queue at a time. The queues of this worker are left out, because their heartbeats report
    /// ends to relay.
    private func relayUnserved(_ discover: @Sendable () async throws -> [String]) async {
        while !Task.isCancelled {
            try? await Task.sleep(for: pause * Double.random(in: 0.5...1.5))
            guard !Task.isCancelled else { return }
            do {
                let own = Set(core.queueNames)
                guard let name = try await discover().filter({ !own.contains($0) }).randomElement() else { continue }
                if let error = await core.broker.relayEnds(of: name).failure { throw error }
            } catch {
                core.logger.debug("ends were not relayed to other queues", metadata: ["error": "\(error)"])
            }
        }
    }
}
