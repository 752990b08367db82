import Logging
import Operations

/// Sleeps until an operation can start. An idle worker does nothing else but send heartbeats.
///
/// One pass:
/// 1. Chooses the queues in which an operation could start and none is known to be ready.
/// 2. Blocks on their wake-up tokens, until one arrives, 30 s have passed, or another queue has to be listened to as
///    well.
/// 3. Claims from the queue of the token, or puts the token back. A worker with one queue sends a claim with its wait.
struct WakeUpLoop: Sendable {
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

    /// - Returns: true if a wait for a wake-up token has ended by itself.
    func runOnce() async throws -> Bool {
        let names = core.queue.withLock { queue in
            let indexes = queue.wakeUpQueues(.now)
            queue.listen(indexes)
            return indexes.map { queue.members[$0].share.name }
        }
        if names.isEmpty {
            await core.wakeUp.wait()
            return false
        }
        core.liveness.listens(true)
        defer {
            core.liveness.listens(false)
            core.queue.withLock { $0.forgetWakeUps() }
        }
        return try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                try await wait(names)
                return true
            }
            group.addTask {
                await core.wakeUp.wait()
                return false
            }
            let isEnded = try await group.next() ?? false
            group.cancelAll()
            // A wake-up that arrives together with a change must not be lost.
            _ = try await group.next()
            return isEnded
        }
    }

    private func wait(_ names: [String]) async throws {
        guard let index = core.index(of: names[0]), let asked = core.queue.withLock({ $0.beginAtWakeUp(index, .now) })
        else {
            return try await listen(names)
        }
        try await claim(names[0], index, asked)
    }

    /// Waits for a wake-up, and claims before anything else happens: a client may wait for the operation.
    private func listen(_ names: [String]) async throws {
        let name: String?
        do {
            name = try await core.broker.waitForWakeUp(queues: names, timeout: Self.patience)
        } catch is CancellationError {
            return
        }
        guard let name else { return }
        let canStart = core.change { queue, now in
            queue.indexes[name].map { queue.wokeUp($0, now) } ?? false
        }
        if !canStart { try await core.broker.wake(queue: name) }
    }

    /// Waits for a wake-up of one queue, with a claim that follows at once.
    private func claim(_ name: String, _ index: Int, _ asked: LocalQueue.WakeUpClaim) async throws {
        let answer: WakeUpAnswer
        do {
            let request = ClaimRequest(
                worker: core.id,
                epoch: asked.epoch,
                capacity: asked.capacity,
                onlyIfIdle: true,
                highestFence: asked.highestFence
            )
            answer = try await core.broker.claimAtWakeUp(request, queue: name, timeout: Self.patience)
        } catch {
            core.change { queue, _ in queue.unansweredWakeUp(index) }
            throw error
        }
        core.note(answer.claim, queue: name)
        let operations = core.hold(answer.claim?.operations ?? [], index)
        let isOfUse = core.change { queue, now in queue.accept(answer, index, of: asked, operations, now) }
        if !isOfUse { try await core.broker.wake(queue: name) }
    }
}
