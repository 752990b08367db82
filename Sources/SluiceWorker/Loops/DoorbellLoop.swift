import Logging
import Operations

/// Sleeps until something can be started: the only thing that an idle worker does besides its heartbeat.
///
/// One pass:
/// 1. Chooses the queues in which it could start something and knows of nothing.
/// 2. Blocks on their bells, until one rings, 30 s have passed, or another queue has to be listened to as well.
/// 3. Claims where it rang, or puts the token back.
struct DoorbellLoop: Sendable {
    private static let patience: Duration = .seconds(30)
    let core: WorkerCore

    func run() async {
        var backoff = Backoff()
        while !Task.isCancelled {
            do {
                try await runOnce()
                backoff.reset()
            } catch {
                core.logger.debug("waiting for a bell failed", metadata: ["error": "\(error)"])
                try? await Task.sleep(for: backoff.pause())
            }
        }
    }

    func runOnce() async throws {
        let names = core.queue.withLock { queue in
            let indexes = queue.bellQueues(.now)
            for index in indexes { queue.members[index].isListening = true }
            return indexes.map { queue.members[$0].share.name }
        }
        if names.isEmpty { return await core.bell.wait() }
        core.pulse.listens(true)
        defer {
            core.pulse.listens(false)
            core.queue.withLock { $0.forgetBells() }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await listen(names) }
            group.addTask { await core.bell.wait() }
            try await group.next()
            group.cancelAll()
            // A ring that arrives together with a change must not be lost.
            try await group.next()
        }
    }

    /// Waits for a ring, and claims before anything else happens: somebody waits for this.
    private func listen(_ names: [String]) async throws {
        let name: String?
        do {
            name = try await core.broker.waitForBell(queues: names, timeout: Self.patience)
        } catch is CancellationError {
            return
        }
        guard let name else { return }
        let canStart = core.change { queue, now in
            queue.indexes[name].map { queue.rang($0, now) } ?? false
        }
        if !canStart { try await core.broker.ring(queue: name) }
    }
}
