import Logging
import Operations

/// Sleeps until something can be started: the only thing that an idle worker does besides its heartbeat.
///
/// One pass:
/// 1. Chooses the queues in which it could start something and knows of nothing.
/// 2. Blocks on their bells, until one rings, a minute has passed, or another queue has to be listened to as well.
/// 3. Claims where it rang, or puts the token back. With one queue to listen to, the claim goes out with the wait.
struct DoorbellLoop: Sendable {
    private static let patience: Duration = .seconds(60)
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
            group.addTask { try await names.count == 1 ? claim(names[0]) : listen(names) }
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

    /// Waits for a ring in one queue, with a claim behind it.
    private func claim(_ name: String) async throws {
        guard let index = core.index(of: name) else { return }
        let asked = core.queue.withLock { $0.beginAtBell(index) }
        let request = ClaimRequest(worker: core.id, epoch: asked.epoch, capacity: asked.capacity)
        let answer: BellAnswer
        do {
            answer = try await core.broker.claimAtBell(request, queue: name, timeout: Self.patience)
        } catch {
            let isUnknown = (error as? OperationsError)?.code == .outcomeUnknown
            core.change { queue, _ in queue.unansweredAtBell(index, mayHaveClaimed: isUnknown) }
            throw error
        }
        core.note(answer.claim, queue: name)
        let ties = core.ties(index)
        let isOfUse = core.change { queue, now in queue.accept(answer, index, of: asked, ties: ties, now) }
        if !isOfUse { try await core.broker.ring(queue: name) }
    }
}
