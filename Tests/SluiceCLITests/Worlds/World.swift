import BrokerModel
import Logging
import Operations
import Sluice

@testable import SluiceCLI
@testable import SluiceOperator

/// An error of a world in memory: a wrong answer of `explain`, or an operation that never ends.
struct WorldFault: Error, CustomStringConvertible {
    let description: String
}

/// Queues in memory on which producers, operators and workers take random steps, so all features meet. From time to
/// time the world is calm, and the answers of `explain` must then be right. Only steps move the clock.
///
/// `scripts/soak` does the same with real processes on Redis; this test covers hundreds of worlds a minute.
struct World {
    static let queues = ["a", "b", "c"]
    static let keys = ["acme", "bolt"]
    static let uniqueKeys = ["sync", "report"]
    static let lease: Int64 = 15_000
    static let name = "step"

    /// A running operation of the worker.
    struct Held {
        var queue: String
        var operation: ClaimedOperation
    }

    let clock = ManualClock()
    let broker: InMemoryBroker
    let client: SluiceClient
    var chance: SeededGenerator
    /// All operations that were ever enqueued with a record.
    var known: [DependencyName] = []
    var groups: [DependencyName] = []
    /// The current worker. Earlier ones are lost.
    var worker = WorkerID("worker-0")
    private var workers = 0
    var held: [Held] = []
    /// Operations cancelled by force, with queue and fence, until the worker has reported that their bodies have
    /// stopped.
    var stopping: [(queue: String, fence: Int64, id: OperationID)] = []
    var isQuiet = false
    var made: UInt64 = 0
    /// The number of occurrences of each event: reasons of `explain`, accepted and refused enqueues, starts.
    var tally: [String: Int] = [:]
    /// The steps so far.
    private(set) var log: [String] = []

    init(seed: UInt64) {
        broker = InMemoryBroker(time: .manual(clock))
        client = SluiceClient(broker: broker, logger: Logger(label: "world") { _ in SwiftLogNoOpLogHandler() })
        chance = SeededGenerator(seed: seed)
    }

    /// Replaces the current worker by a new one.
    mutating func replaceWorker() {
        workers += 1
        (worker, held, stopping, isQuiet) = (WorkerID("worker-\(workers)"), [], [], false)
    }

    mutating func note(_ text: String) {
        log.append("\(clock.now - 1_700_000_000_000) \(text)")
    }

    mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &chance) }
    mutating func chance(_ probability: Double) -> Bool { Double.random(in: 0..<1, using: &chance) < probability }
    mutating func queue() -> String { Self.queues[number(0...Self.queues.count - 1)] }
    /// One of the latest operations.
    mutating func some() -> DependencyName? { known.suffix(30).randomElement(using: &chance) }

    func home(of name: DependencyName) -> String { name.queue ?? Self.queues[0] }

    /// The records of all existing operations, by queue.
    func details() async throws -> [OperationDetail] {
        var details: [OperationDetail] = []
        for queue in Self.queues {
            let ids = known.filter { $0.queue == queue }.map(\.id)
            details += try await broker.allDetails(ids, queue: queue).compactMap { $0 }
        }
        return details
    }

    // MARK: A calm

    /// Sends a heartbeat in each queue, as the worker's loops do.
    mutating func beat() throws {
        let info = WorkerInfo(
            host: "h",
            pid: 1,
            name: "w",
            slots: 1000,
            busy: held.count,
            queues: Self.queues,
            handles: [Self.name],
            version: "1",
            startedAt: 0,
            phase: isQuiet ? "quiet" : "running"
        )
        for queue in Self.queues {
            let beat = Beat(
                worker: worker,
                epoch: 0,
                leaseMilliseconds: Self.lease,
                intervalMilliseconds: Self.lease / 3,
                info: info.encoded()
            )
            let reply = try broker.beat(beat, queue: queue)
            isQuiet = reply.settings.course?.value == .quiet
            stopping += reply.cancels.compactMap { cancel in cancel.forced.map { (queue, cancel.fence, $0) } }
        }
    }

    /// Reports that the bodies of operations cancelled by force have stopped. Until then the operations keep their
    /// keys.
    private mutating func reportStopped() async throws {
        for (queue, fence, id) in stopping {
            held.removeAll { $0.queue == queue && $0.operation.fence == fence }
            let report = Report(fence: fence, id: id, content: .cancelStopped)
            _ = try await broker.report([report], number: 0, worker: worker, queue: queue)
        }
        stopping = []
    }

    /// Does the work of workers between two heartbeats, except claims: recoveries, and ends for other queues.
    func settle() async throws {
        for _ in 0..<200 {
            var isBusy = false
            for queue in Self.queues {
                let swept = try await broker.sweep(queue: queue)
                let relayed = await broker.relayEnds(of: queue)
                isBusy = isBusy || swept.more || swept.recovered > 0 || relayed.count > 0
            }
            if !isBusy { return }
        }
        throw WorldFault(description: "sweeps and ends of other queues find no end")
    }

    mutating func claim(_ capacity: Int, from queue: String) async throws -> [ClaimedOperation] {
        guard !isQuiet else { return [] }
        let request = ClaimRequest(worker: worker, epoch: 0, capacity: capacity)
        let claim = try await broker.claim(request, queue: queue)
        let claimed = claim.operations
        note("claim from \(queue): \(claim.status) \(claimed.map(\.id))")
        tally["start", default: 0] += claimed.count
        held += claimed.map { Held(queue: queue, operation: $0) }
        return claimed
    }

    /// Compares the answers of `explain` with the claims of a worker that has room for all operations.
    mutating func calm() async throws {
        try beat()
        try await reportStopped()
        try await settle()
        let before = try await details().filter { !$0.state.isTerminal }
        let situations = try await SituationReader(broker: client.broker).read(before, isMeasured: false)
        let explanations = situations.map { Explanation($0) }
        var claimed: [String: Set<OperationID>] = [:]
        for queue in Self.queues {
            claimed[queue] = Set(try await claim(500, from: queue).map(\.id))
        }
        let after = Dictionary(
            uniqueKeysWithValues: try await details().map { (DependencyName($0.id, queue: $0.queue), $0) }
        )
        // An operation that ends during the claims, for example by expiry, may let others start.
        let hasEnded = before.contains { after[DependencyName($0.id, queue: $0.queue)]?.state.isTerminal ?? true }
        for explanation in explanations {
            for (code, _) in explanation.reasons { tally[code, default: 0] += 1 }
            let (id, queue) = (explanation.situation.detail.id, explanation.situation.queue)
            let isClaimed = claimed[queue]?.contains(id) ?? false
            let now = after[DependencyName(id, queue: queue)]
            // A dead worker counts as live until its lease ends. The only place of a limit may go to an operation that
            // has become due, or to a lower lane that has waited long.
            let isKnown =
                (!isQuiet || explanation.situation.liveWorkers.count == 1)
                && (explanation.situation.isUnlimited || claimed[queue]?.isEmpty ?? true)
            if isKnown, explanation.saysItStarts, !isClaimed, now?.state.isTerminal == false {
                throw fault("the worker had room for it, and did not get it", explanation, now)
            }
            if isClaimed, !hasEnded, let reason = explanation.reasonToStay {
                throw fault("it was started in spite of \(reason)", explanation, now)
            }
        }
    }

    func fault(_ what: String, _ explanation: Explanation, _ now: OperationDetail?) -> WorldFault {
        let text = explanation.lines.joined(separator: "\n")
        let snapshot = explanation.situation.snapshot
        let facts = "now \(now?.state.rawValue ?? "gone"), limits \(snapshot.limits), workers \(snapshot.workers.count)"
        return WorldFault(description: "\(what)\n\(text)\n\(facts)")
    }
}

extension Explanation {
    /// Reasons that keep an operation from starting until another event.
    private static let stays: Set<String> = [
        "held", "needs", "keyTaken", "notDue", "snoozed", "retryDelay", "paused", "limited", "rateReached",
        "keyLimited",
        "keyRateReached", "noWorker", "unknownName", "workersQuiet", "groupOpen", "members", "executing",
    ]

    var reasonToStay: String? { reasons.first { Self.stays.contains($0.code) }?.code }

    /// Whether the next claim takes the operation, according to the reasons.
    var saysItStarts: Bool {
        guard !situation.detail.isGroup else { return false }
        return reasons.isEmpty
            || reasons.map(\.code) == ["overdue"] && situation.isUnlimited && situation.detail.limitKey == nil
    }
}

extension Situation {
    /// Whether neither the queue nor the limit key has a limit.
    fileprivate var isUnlimited: Bool {
        let key = limitKey?.limit
        return snapshot.limits.concurrency == nil && snapshot.limits.rate == nil && key?.concurrency == nil
            && key?.rate == nil
    }
}
