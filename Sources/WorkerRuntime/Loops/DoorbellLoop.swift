import Logging
import Operations

/// Sleeps until something can be started: the only thing that an idle worker does besides its heartbeat.
///
/// One pass:
/// 1. Chooses the queues in which it could start something and knows of nothing.
/// 2. Blocks on their bells, until one rings, 30 s have passed, or another queue has to be listened to as well.
/// 3. Claims where it rang, or puts the token back. A worker with one queue sends a claim for an idle one along.
struct DoorbellLoop: Sendable {
    private static let patience: Duration = .seconds(30)
    let core: WorkerCore

    func run() async {
        var backoff = Backoff()
        var refusal = RefusalNotes(
            core.logger,
            "new operations are noticed only by heartbeats",
            over: "new operations are noticed at once again"
        )
        while !Task.isCancelled {
            do {
                guard try await runOnce() else { continue }
                backoff.reset()
                refusal.isOver()
            } catch {
                refusal.note(error)
                core.logger.debug("waiting for a wake-up token failed", metadata: ["error": "\(error)"])
                try? await Task.sleep(for: backoff.pause())
            }
        }
    }

    /// - Returns: whether a wait for a bell has ended by itself.
    func runOnce() async throws -> Bool {
        let names = core.queue.withLock { queue in
            let indexes = queue.bellQueues(.now)
            queue.listen(indexes)
            return indexes.map { queue.members[$0].share.name }
        }
        if names.isEmpty {
            await core.bell.wait()
            return false
        }
        core.pulse.listens(true)
        defer {
            core.pulse.listens(false)
            core.queue.withLock { $0.forgetBells() }
        }
        return try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                try await wait(names)
                return true
            }
            group.addTask {
                await core.bell.wait()
                return false
            }
            let isEnded = try await group.next() ?? false
            group.cancelAll()
            // A ring that arrives together with a change must not be lost.
            _ = try await group.next()
            return isEnded
        }
    }

    private func wait(_ names: [String]) async throws {
        guard let index = core.index(of: names[0]), let asked = core.queue.withLock({ $0.beginAtBell(index, .now) })
        else {
            return try await listen(names)
        }
        try await claim(names[0], index, asked)
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
    private func claim(_ name: String, _ index: Int, _ asked: LocalQueue.BellClaim) async throws {
        let answer: BellAnswer
        do {
            let request = ClaimRequest(
                worker: core.id,
                epoch: asked.epoch,
                capacity: asked.capacity,
                onlyIfIdle: true,
                highestFence: asked.highestFence
            )
            answer = try await core.broker.claimAtBell(request, queue: name, timeout: Self.patience)
        } catch {
            core.change { queue, _ in queue.unansweredAtBell(index) }
            throw error
        }
        core.note(answer.claim, queue: name)
        let operations = core.hold(answer.claim?.operations ?? [], index)
        let isOfUse = core.change { queue, now in queue.accept(answer, index, of: asked, operations, now) }
        if !isOfUse { try await core.broker.ring(queue: name) }
    }
}
