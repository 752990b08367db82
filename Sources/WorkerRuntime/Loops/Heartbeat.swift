import Dispatch
import Foundation
import Logging
import Operations
import Synchronization

/// Asks the heartbeat's thread for an early heartbeat, or to end.
final class BeatRequest: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    private let isStopped = Atomic<Bool>(false)
    private let isRequested = Atomic<Bool>(false)

    func request() {
        if !isRequested.exchange(true, ordering: .acquiringAndReleasing) { semaphore.signal() }
    }

    func stop() {
        isStopped.store(true, ordering: .releasing)
        semaphore.signal()
    }

    var hasStopped: Bool { isStopped.load(ordering: .acquiring) }

    /// Blocks the thread until the time has passed or a heartbeat is requested.
    func wait(_ duration: Duration) {
        let nanoseconds = max(0, Int(duration.inSeconds * 1e9))
        _ = semaphore.wait(timeout: .now() + .nanoseconds(nanoseconds))  // a monotonic clock
        isRequested.store(false, ordering: .releasing)
    }
}

/// Renews the worker's leases, on a thread of its own: neither busy bodies nor a full command queue can delay it.
///
/// One pass renews the lease of each queue and passes the replies on. A reply has cancels, and reports operations to
/// start, a due sweep or a number of operations that differs from the number held. A pass that fails is repeated
/// sooner.
final class Heartbeat: Sendable {
    /// How much earlier the lease ends here than in Redis, so that this worker stops before others take over.
    private static let margin: Duration = .seconds(1)
    /// The shortest pause between two passes, even if a heartbeat is requested.
    private static let shortest: Duration = .milliseconds(20)
    /// The longest time until the changes of replies take effect. A look at a thousand queues after each of a thousand
    /// replies would take longer than the heartbeats themselves.
    private static let patience: Duration = .milliseconds(10)
    /// The number of heartbeats in flight at once, if queues are on several servers.
    private static let together = 64
    private let core: WorkerCore
    private let hasStarted = Atomic<Bool>(false)
    private let ended = Signal()
    private let idleness = Mutex(IdleWatch())
    /// Queues whose last heartbeat was not answered.
    private let unanswered = Mutex<Set<String>>([])

    init(_ core: WorkerCore) { self.core = core }

    func start() {
        hasStarted.store(true, ordering: .releasing)
        #if DEBUG
            if ProcessInfo.processInfo.environment["SLUICE_MUTANT"] == "heartbeat-on-pool" { return startOnPool() }
        #endif
        let thread = Thread { [self] in
            run()
            ended.raise()
        }
        thread.name = "sluice.heartbeat"
        thread.stackSize = 512 << 10
        thread.start()
    }

    #if DEBUG
        /// Breaks the rule that a heartbeat has a thread of its own: a negative control of `scripts/faults`.
        private func startOnPool() {
            Task.detached { [self] in
                while !core.beatNow.hasStopped {
                    _ = runOnce()
                    try? await Task.sleep(for: core.configuration.beatInterval)
                }
                ended.raise()
            }
        }
    #endif

    /// Ends the thread after the heartbeat in flight, and waits for it.
    func stop() async {
        core.beatNow.stop()
        if hasStarted.load(ordering: .acquiring) { await ended.wait() }
    }

    private func run() {
        var backoff = Backoff()
        while !core.beatNow.hasStopped {
            let startedAt = ContinuousClock.now
            if runOnce() {
                backoff.reset()
                Thread.sleep(forTimeInterval: Self.shortest.inSeconds)
                core.beatNow.wait(core.configuration.beatInterval - (.now - startedAt))
            } else {
                core.beatNow.wait(min(backoff.pause(), core.configuration.beatInterval))
            }
        }
    }

    /// Sends a heartbeat for each queue.
    ///
    /// - Returns: false if a heartbeat failed.
    func runOnce() -> Bool {
        core.checkThreads()
        core.checkBlockingThreads(BlockingThreads.shared.status)
        let about = core.info()
        core.checkMemory(about.residentBytes)
        giveBackMemory(about)
        observeOutboxes()
        let info = about.encoded()
        if let broker = core.broker as? any SpreadBroker, broker.isSpread { return beatTogether(broker, info) }
        var failures = BeatFailures()
        var changedAt = ContinuousClock.now
        for (index, name) in core.queueNames.enumerated() where !core.beatNow.hasStopped {
            let sentAt = ContinuousClock.now
            let reply = Result { try core.broker.beat(beat(index, info), queue: name) }
            heed(reply, index, name, sentAt, &failures)
            guard .now - changedAt > Self.patience else { continue }
            core.change { _, _ in }
            changedAt = .now
        }
        core.change { _, _ in }
        log(failures)
        return failures.isEmpty
    }

    private func observeOutboxes() {
        guard !core.observers.isEmpty else { return }
        let now = ContinuousClock.now
        let ages = core.queue.withLock { queue in
            queue.members.indices.map { (queue.members[$0].share.name, queue.members[$0].outbox.age(now)) }
        }
        for (name, age) in ages { for observer in core.observers { observer.outboxWaits(age, queue: name) } }
    }

    /// A busy worker keeps its memory; an idle one returns it to the system.
    private func giveBackMemory(_ about: WorkerInfo) {
        let ended = about.finished + about.failed + about.cancelled
        let interval = core.configuration.beatInterval
        let isIdle = idleness.withLock {
            $0.hasBecomeIdle(ended: ended, busy: about.busy, at: .now, after: interval)
        }
        if isIdle { ProgramPages.giveBack() }
    }

    /// Sends the heartbeats of queues on several servers, many at once: a server that is away does not delay the queues
    /// of the others.
    private func beatTogether(_ broker: any SpreadBroker, _ info: [UInt8]) -> Bool {
        var failures = BeatFailures()
        let names = Array(core.queueNames.enumerated())
        for start in stride(from: 0, to: names.count, by: Self.together) where !core.beatNow.hasStopped {
            let part = names[start..<min(start + Self.together, names.count)]
            let sentAt = ContinuousClock.now
            let replies = broker.beats(part.map { (beat($0.offset, info), $0.element) })
            for (name, reply) in zip(part, replies) { heed(reply, name.offset, name.element, sentAt, &failures) }
        }
        core.change { _, _ in }
        log(failures)
        return failures.isEmpty
    }

    private func heed(
        _ reply: Result<BeatReply, any Error>,
        _ index: Int,
        _ name: String,
        _ sentAt: ContinuousClock.Instant,
        _ failures: inout BeatFailures
    ) {
        switch reply {
        case .success(let reply):
            core.liveness.answered()
            core.statistics.answered(index, time: reply.time, sentAt: sentAt)
            let lease = core.configuration.lease
            core.leaseRenewed(index, until: sentAt + lease - min(Self.margin, lease / 4), reply)
            if reply.sweepDue {
                core.sweeps.request(name)
                core.relays.request(name)
            }
        case .failure(let error):
            failures.note(name, error)
            core.leaseUnrenewed()
        }
    }

    /// Logs once for each queue that its heartbeats fail, and once that they are answered again.
    private func log(_ failures: BeatFailures) {
        let (new, over) = unanswered.withLock { before in
            defer { before = Set(failures.queues) }
            return (failures.queues.filter { !before.contains($0) }, before.subtracting(failures.queues).sorted())
        }
        if !new.isEmpty {
            core.logger.warning(
                "heartbeats fail",
                metadata: ["queues": "\(Self.named(new))", "error": "\(failures.error)"]
            )
        } else if !failures.isEmpty {
            core.logger.debug("heartbeats still fail", metadata: ["error": "\(failures.error)"])
        }
        guard !over.isEmpty else { return }
        core.logger.notice("heartbeats are answered again", metadata: ["queues": "\(Self.named(over))"])
        for queue in over { for observer in core.observers { observer.reconnected(queue: queue) } }
    }

    /// Names the first queues, and counts the others.
    private static func named(_ queues: [String]) -> String {
        let named = queues.prefix(WorkerInfo.queuesNamed).joined(separator: ",")
        let more = queues.count - WorkerInfo.queuesNamed
        return more > 0 ? "\(named) and \(more) more" : named
    }

    private func beat(_ index: Int, _ info: [UInt8]) -> Beat {
        let (epoch, seen) = core.queue.withLock { ($0.members[index].lease.epoch, $0.members[index].unhandled.seen) }
        return Beat(
            worker: core.id,
            epoch: epoch,
            leaseMilliseconds: core.configuration.lease.wholeMilliseconds,
            intervalMilliseconds: core.configuration.beatInterval.wholeMilliseconds,
            info: info,
            unhandledSeen: seen,
            statistics: core.statistics.send(index),
            build: core.configuration.build
        )
    }
}

/// The heartbeats of one pass that were not answered.
private struct BeatFailures {
    private(set) var queues: [String] = []
    /// The error of the first one.
    private(set) var error = ""
    var isEmpty: Bool { queues.isEmpty }

    mutating func note(_ queue: String, _ error: any Error) {
        if queues.isEmpty { self.error = "\(error)" }
        queues.append(queue)
    }
}

extension WorkerCore {
    /// Drains a worker that has grown beyond its limit, so that a new process replaces it.
    func checkMemory(_ bytes: Int64) {
        guard let limit = configuration.maxResidentBytes, bytes > limit else { return }
        recycle("resident memory", ["bytes": "\(bytes)", "limit": "\(limit)"])
    }

    /// Logs once that every thread is blocked and only the heartbeat still runs.
    func checkThreads() {
        let blocked = pool.blockedFor()
        let isBlocked = blocked > Liveness.patience
        guard counters.isBlocked.exchange(isBlocked, ordering: .relaxed) != isBlocked else { return }
        if isBlocked {
            logger.error(
                "operations that never yield hold every thread: nothing is claimed, and no end is stored",
                metadata: ["since": "\(blocked)", "stuck": "\(counters.stuck.load(ordering: .relaxed))"]
            )
        } else {
            logger.notice("a thread is free again")
        }
    }

    /// Logs once when stuck blocking bodies begin to hold threads, when they hold more than are replaced, and when they
    /// end.
    func checkBlockingThreads(_ status: BlockingThreads.Status) {
        let shortage = ThreadShortage(status)
        guard counters.threadShortage.exchange(shortage, ordering: .relaxed) != shortage else { return }
        let facts: Logger.Metadata = [
            "stuck": "\(status.stuck)", "replacements": "\(status.replacements)", "waiting": "\(status.waiting)",
        ]
        switch shortage {
        case .none: logger.notice("stuck blocking bodies hold no thread any more")
        case .replaced:
            logger.warning("stuck blocking bodies hold threads; other threads replace them", metadata: facts)
        case .exhausted:
            logger.error(
                """
                stuck blocking bodies hold more threads than are replaced: other blocking operations may wait for a thread; \
                restart this worker, or run it with --stuck replace
                """,
                metadata: facts
            )
        }
    }

    /// Applies a reply. Operations that may start because of it wait for the next change.
    func leaseRenewed(_ index: Int, until: Instant, _ reply: BeatReply) {
        queue.withLock { $0.renew(index, until: until, reply, .now) }
        setTimers(index, leaseEnd: until)
        noteUnhandled(reply.unhandled, index)
        schedules.note(index, reply.scheduleMilliseconds)
        for request in reply.cancels { cancel(request, index) }
        cancelThrough(reply.cancelledThroughFence, reply.queueCancel, index)
        heed(reply.settings, index)
    }

    /// True if a body that has not begun must not begin: the lease has ended, and the operation's outage grace is
    /// shorter than a lease.
    func mustStop(_ operation: HeldOperation, _ name: String) -> Bool {
        configuration.outageGrace.of(name: name, queue: operation.queueName) < configuration.lease
            && !operation.ownsLease
    }

    /// Handles a heartbeat that was not answered. Stops bodies whose lease ended longer ago than their outage grace:
    /// other workers may run the same operations by now. Checks every queue, because with many of them each heartbeat
    /// has to reach its deadline before the next one is sent.
    func leaseUnrenewed() {
        stopWithoutLease(queueNames.indices)
        change { queue, now in queue.releaseSlotsOfReports(now) }
    }

    /// Sets timers that stop bodies with a grace shorter than a lease in time: a heartbeat that hangs fails only after
    /// its deadline. A timer does nothing if the lease was renewed meanwhile.
    private func setTimers(_ index: Int, leaseEnd: Instant) {
        for grace in configuration.outageGrace.short(below: configuration.lease) {
            let pause = DispatchTimeInterval.microseconds(max(0, Int((leaseEnd + grace - .now) / .microseconds(1)) + 1))
            DispatchQueue.global().asyncAfter(deadline: .now() + pause) { [weak self] in
                self?.stopWithoutLease(index..<index + 1)
            }
        }
    }

    private func stopWithoutLease(_ indexes: Range<Int>) {
        let (now, grace) = (Instant.now, configuration.outageGrace)
        let lost = queue.withLock { queue in
            queue.members[indexes].flatMap { member -> [HeldOperation] in
                guard let until = member.lease.until, until <= now else { return [] }
                return member.lease.held.values.filter {
                    until + grace.of(name: $0.runName, queue: member.share.name) <= now
                }
            }
        }
        for operation in lost where !operation.hasEnded && operation.endRequests.stop != .lost { lose(operation) }
    }
}
