import Operations
import BrokerModel

/// Draws steps that make sense: mostly calls of correct workers, mixed with repeats and with writes under old fences.
///
/// Some steps arrive late, so that later ones overtake them, and some arrive twice. Any step of a worker may be its
/// last for a long time, so each step is also a crash between two calls.
struct RandomSteps {
    var chance: SeededGenerator
    let workers: [WorkerID]
    private var epochs: [WorkerID: Int] = [:]
    /// The number of the last statistics of each worker.
    private var counted: [WorkerID: Int64] = [:]
    /// Tracked ids that were used, newest last. The list stays short, so that steps meet.
    private(set) var tracked: [OperationID] = []
    private var untracked: [OperationID] = []
    /// Earlier claims, newest last.
    private var past: [Hold] = []
    private var made: UInt64 = 0
    /// Groups that were opened, newest last, and some ids that are no groups.
    var groups: [OperationID] = []
    /// Messages on their way.
    private var late: [RandomStep] = []

    private static let idsKept = 24
    /// The limit is small, because every step compares all of them, and because few operations meet more often.
    private static let mostLoad = 24

    struct Hold {
        var worker: WorkerID
        var fence: Int64
        var header: OperationHeader
    }

    init(seed: UInt64, workers: Int) {
        chance = SeededGenerator(seed: seed)
        self.workers = (0..<workers).map { WorkerID("worker-\($0)") }
    }

    /// - Parameters:
    ///   - held: the running operations.
    ///   - load: the number of entries in the queue. Above `mostLoad`, nothing is added.
    ///   - hasToken: whether the wake-up token can be taken.
    /// - Returns: the step, and whether its answer is heard. The answer to a late step goes to a closed connection.
    mutating func next(held: [Hold], load: Int, hasToken: Bool) -> (step: RandomStep, isHeard: Bool) {
        remember(held)
        if !late.isEmpty, chance(0.2) { return (late.remove(at: number(0...late.count - 1)), false) }
        let step = fresh(held: held, load: load, hasToken: hasToken)
        guard step.isMessage, late.count < 8, chance(0.06) else { return (step, true) }
        late.append(step)
        // While the message is on its way, another step happens, or the message is sent again and overtakes itself.
        let again = chance(0.5) ? step.repeated : nil
        return (again ?? fresh(held: held, load: load, hasToken: hasToken), true)
    }

    private mutating func fresh(held: [Hold], load: Int, hasToken: Bool) -> RandomStep {
        switch number(1...100) {
        case 1...20: return load < Self.mostLoad ? enqueue(held) : claim()
        case 21...34: return .advance(jump())
        case 35...44: return beat()
        case 45...58: return claim()
        case 59...68: return complete(held)
        case 69...75: return fail(held)
        case 76...80: return giveBack(held)
        case 81...83: return chance(0.3) ? effect(held) : report(held)
        case 84...85: return reconcile(held)
        case 86...88: return chance(0.35) ? .sweep : .remote(remote())
        case 89:
            switch number(1...5) {
            case 1...2: return .hold(ids(1...3))
            case 3: return edit()
            default: return .release(ids(1...6))
            }
        case 90...92: return .cancel(ids(1...3), cancelRequest())
        case 93...94:
            let ids = ids(1...3)
            return .retry(ids, delays: chance(0.3) ? ids.map { _ in Int64(number(0...2)) * 5_000 } : [])
        case 95...96: return .remove(ids(1...2))
        default: return rare(hasToken: hasToken)
        }
    }

    private mutating func rare(hasToken: Bool) -> RandomStep {
        switch number(1...40) {
        case 1...12: hasToken ? .takeToken : .wake
        case 13...20: .pause(chance(0.7) ? Int64(number(0...20_000)) : nil)
        case 21...25: .resume
        case 26...28: .limit(limit())
        case 29: chance(0.5) ? schedule() : .fireSchedules(next: chance(0.8) ? Int64(number(1...9000)) : nil)
        case 30...32: .control(command(), worker())
        case 33...36: chance(0.5) ? .cancelQueue(cancelRequest()) : .sweep
        case 37: chance(0.5) ? .forgetScripts : .purge
        case 38: .readStatistics(statisticsQuery())
        case 39: standing()
        default: chance(0.5) ? retire() : .recoverWorker(worker())
        }
    }

    private mutating func limit() -> QueueLimit {
        let isRemoved = chance(0.6)
        if chance(0.5) { return keyLimit(isRemoved) }
        if chance(0.5) { return .concurrency(isRemoved ? nil : number(1...6)) }
        let rate = QueueRate(number(1...4), per: .milliseconds(number(1...900)), burst: number(1...8))
        return .rate(isRemoved ? nil : rate)
    }

    private mutating func keyLimit(_ isRemoved: Bool) -> QueueLimit {
        let key = chance(0.5) ? nil : Self.keys.randomElement(using: &chance)
        if chance(0.4) {
            let rate = QueueRate(number(1...4), per: .milliseconds(number(1...60_000)), burst: number(1...4))
            return .keyRate(isRemoved ? nil : rate, of: key)
        }
        if chance(0.6) { return .keyConcurrency(isRemoved ? nil : number(1...3), of: key) }
        return .keyWeight(isRemoved ? nil : number(1...4), of: key)
    }

    private mutating func standing() -> RandomStep {
        guard chance(0.7) else { return .removeStanding(chance(0.3) ? nil : [Int64(number(1...12))]) }
        let new = NewStandingCancel(
            query: "tag:\(number(1...20))",
            milliseconds: Int64(number(1...300_000)),
            by: "tester",
            reason: chance(0.5) ? "reason \(number(1...9))" : ""
        )
        return .setStanding(new)
    }

    private mutating func edit() -> RandomStep {
        .edit(
            ids(1...3),
            chance(0.6) ? OperationPriority.allCases.randomElement(using: &chance) : nil,
            delayMilliseconds: chance(0.3) ? Int64(number(0...20_000)) : nil,
            isNew: chance(0.3)
        )
    }

    private mutating func remember(_ held: [Hold]) {
        for hold in held where !past.contains(where: { $0.fence == hold.fence }) { past.append(hold) }
        if past.count > 80 { past.removeFirst(past.count - 80) }
        if tracked.count > Self.idsKept { tracked.removeFirst(tracked.count - Self.idsKept) }
        if groups.count > 6 { groups.removeFirst(groups.count - 6) }
        if untracked.count > Self.idsKept { untracked.removeFirst(untracked.count - Self.idsKept) }
    }
}

// MARK: - Producers

extension RandomSteps {
    /// Draws more dependents than one end resolves at once.
    private mutating func dependents() -> RandomStep {
        let dependency = OperationDependency(tracked.last ?? newID(), onFailure: chance(0.5) ? .run : .cancel)
        let operations = (0..<number(51...60)).map { _ in
            NewOperation(id: newID(), envelope: envelope(), links: OperationLinks(after: [dependency]))
        }
        return .enqueue(operations)
    }

    private mutating func enqueue(_ held: [Hold]) -> RandomStep {
        if chance(0.02) { return dependents() }
        if chance(0.08), let hold = (chance(0.9) ? held : past).randomElement(using: &chance) { return children(hold) }
        let isTracked = chance(0.6)
        return .enqueue((0..<number(1...6)).map { _ in operation(tracked: isTracked) })
    }

    private mutating func operation(tracked isTracked: Bool) -> NewOperation {
        let operation = NewOperation(
            id: isTracked && chance(0.1) ? tracked.randomElement(using: &chance) ?? newID() : newID(),
            tracked: isTracked,
            priority: OperationPriority.allCases.randomElement(using: &chance) ?? .normal,
            delayMilliseconds: isTracked && chance(0.2) ? Int64(number(1...120_000)) : 0,
            expiresMilliseconds: chance(0.15) ? Int64(number(1...60_000)) : 0,
            envelope: envelope(),
            links: isTracked && chance(0.25) ? chance(0.3) ? groupLinks() : links() : nil
        )
        if operation.links?.group != nil { groups.append(operation.id) }
        if isTracked { tracked.append(operation.id) } else { untracked.append(operation.id) }
        return operation
    }

    private mutating func links() -> OperationLinks? {
        let policies: [DuplicatePolicy] = [.join, .skip, .replace, .enqueue, .keepLatest, .debounce(.zero)]
        let unique = UniqueClaim(
            key: ["sync 7", "größe:{1}", "k"][number(0...2)],
            policy: policies[number(0...5)],
            freshMilliseconds: chance(0.4) ? Int64(number(1...20_000)) : 0
        )
        let isUnique = chance(0.4)
        let key = chance(0.3) ? Self.keys.randomElement(using: &chance) : nil
        let after = chance(0.6) ? dependencies() : []
        var links = OperationLinks(unique: isUnique ? unique : nil, limitKey: key, after: after)
        links?.isOpen = !after.isEmpty && chance(0.1)
        for dependency in after where dependency.queue != nil {
            links?.said[dependency.name] = said(of: dependency.id, canBeUnknown: chance(0.1))
        }
        return links
    }

    /// Draws dependencies, rarely with an unknown id.
    mutating func dependencies() -> [OperationDependency] {
        var ids = self.ids(1...3)
        if chance(0.05) { ids.append(newID()) }
        let own = Set(ids).sorted().map { OperationDependency($0, onFailure: policy()) }
        guard chance(0.4) else { return own }
        let others = (0..<number(1...3)).map { _ in number(1...Self.otherIDs.count) - 1 }
        return (chance(0.5) ? own : [])
            + Set(others).sorted().map {
                OperationDependency(Self.otherIDs[$0], queue: Self.otherQueue, onFailure: policy())
            }
    }

    private mutating func policy() -> DependencyFailurePolicy {
        DependencyFailurePolicy.allCases.randomElement(using: &chance) ?? .cancel
    }

    private static let keys = ["acme", "bolt", "c.o-d_e"]

    /// Draws an envelope, rarely one so large that an answer cannot hold many.
    mutating func envelope() -> [UInt8] {
        let padding = chance(0.004) ? String(repeating: "x", count: 140_000) : ""
        return Array(#"{"name":"step","args":{"n":\#(made),"padding":"\#(padding)"}}"#.utf8)
    }

    mutating func newID() -> OperationID {
        made += 1
        return OperationID(milliseconds: 1_700_000_000_000 + made, using: &chance)
    }
}

// MARK: - Workers

extension RandomSteps {
    private mutating func beat() -> RandomStep {
        let worker = worker()
        let beat = Beat(
            worker: worker,
            epoch: epochs[worker] ?? 0,
            leaseMilliseconds: 15_000,
            intervalMilliseconds: 5000,
            info: Array("info \(number(1...9))".utf8),
            unhandledSeen: Int64(number(0...3)),
            statistics: chance(0.6) ? statistics(of: worker) : nil,
            // Drawn from the number of operations, so that the steps that a seed gives stay as they are.
            build: made % 5 == 0 ? nil : "build \(made % 70)"
        )
        return .beat(beat)
    }

    /// Draws new statistics, or repeats the last ones. Rarely draws so many names that the rest is counted together.
    private mutating func statistics(of worker: WorkerID) -> StatisticsDelta {
        if chance(0.8) { counted[worker, default: 0] += 1 }
        let names = chance(0.05) ? (0..<number(50...75)).map { "name-\($0 + number(0...99))" } : Self.names
        let entries = Set(names).sorted().map {
            StatisticsDelta.Entry(name: chance(0.9) ? $0 : nil, statistics: statistics())
        }
        return StatisticsDelta(number: counted[worker] ?? 0, entries: entries)
    }

    private mutating func statistics() -> Statistics {
        var statistics = Statistics()
        (statistics.started, statistics.finished) = (Int64(number(0...300)), Int64(number(0...70_000)))
        (statistics.failed, statistics.retried) = (Int64(number(0...3)), Int64(number(0...1)))
        for _ in 0..<number(0...4) { statistics.wait.add(microseconds: Int64(1 << number(0...40))) }
        for _ in 0..<number(0...4) { statistics.run.add(microseconds: Int64(1 << number(0...40))) }
        return statistics
    }

    private mutating func statisticsQuery() -> StatisticsQuery {
        let unit = StatisticsQuery.Unit.allCases[number(0...2)]
        return StatisticsQuery(unit, count: number(0...unit.kept + 2), skip: chance(0.3) ? number(0...3) : 0)
    }

    private mutating func retire() -> RandomStep {
        let worker = worker()
        return .retire(worker, chance(0.5) ? [statistics(of: worker), statistics(of: worker)] : [])
    }

    private mutating func claim() -> RandomStep {
        var request = claimRequest(by: worker())
        request.onlyIfIdle = chance(0.1)
        return .claim(request)
    }

    private mutating func claimRequest(by worker: WorkerID) -> ClaimRequest {
        let epoch = epochs[worker] ?? 0
        return ClaimRequest(
            worker: worker,
            epoch: chance(0.1) ? max(0, epoch - 1) : epoch,
            capacity: number(1...8),
            unhandled: chance(0.4) ? Array(Self.names.shuffled(using: &chance).prefix(number(1...3))) : []
        )
    }

    private mutating func complete(_ held: [Hold]) -> RandomStep {
        let (holds, worker, isPast) = some(of: held)
        let completions = holds.map { hold in
            Completion(
                fence: hold.fence,
                id: hold.header.id,
                tracked: hold.header.tracked,
                result: hold.header.tracked && hold.fence % 2 == 0 ? Array("\(hold.fence)".utf8) : []
            )
        }
        // A correct worker that was never swept holds every operation that it completes for the first time. Only
        // repeats may refer to the past.
        let isRepeat = isPast || chance(0.1)
        let request = chance(0.5) && !isRepeat ? claimRequest(by: worker) : nil
        return .complete(completions, isRepeat: isRepeat, worker, thenClaim: request)
    }

    private mutating func fail(_ held: [Hold]) -> RandomStep {
        let (holds, worker, _) = some(of: held)
        let failures = holds.map { hold in
            Failure(fence: hold.fence, id: hold.header.id, disposition: disposition(), error: error(of: hold))
        }
        return .fail(failures, worker)
    }

    private mutating func disposition() -> Failure.Disposition {
        switch number(1...12) {
        case 11: .snoozed(milliseconds: Int64(number(0...30_000)), reason: "reason \(number(1...9))")
        case 12: .yielded
        case 1...6: .retry(afterMilliseconds: Int64(number(0...30_000)))
        case 7...8: .dead
        case 9: .cancelled
        default:
            .cancelledByStanding(
                standing: Int64(number(1...12)),
                OperationCancellation(
                    reason: "reason \(number(1...9))",
                    by: "tester",
                    requestedAt: Int64(1_700_000_000_000 + number(0...999))
                )
            )
        }
    }

    private mutating func error(of hold: Hold) -> [UInt8] {
        guard chance(0.8) else { return [] }
        return OperationFailure(type: "step", message: "fence \(hold.fence)", attempt: 1, delivery: 1).encoded()
    }

    private mutating func giveBack(_ held: [Hold]) -> RandomStep {
        let (holds, worker, _) = some(of: held)
        let returns = holds.shuffled(using: &chance).map { hold in
            Return(
                fence: hold.fence,
                id: hold.header.id,
                place: place()
            )
        }
        return .giveBack(returns, worker)
    }

    private mutating func place() -> Return.Place {
        let pause = Int64(number(0...30_000))
        switch number(1...10) {
        case 1...4: return .front
        case 5...6: return .later(milliseconds: pause)
        default: return .unhandled(name: Self.names[number(0...2)], orLaterMilliseconds: pause)
        }
    }

    /// Names that workers do not handle at first, or learn to handle.
    private static let names = ["one", "two", "three"]

    private mutating func effect(_ held: [Hold]) -> RandomStep {
        let (holds, worker, _) = some(of: held)
        let hold = holds.first
        let result = EffectResult(
            fence: hold?.fence ?? Int64(number(1...50)),
            id: hold?.header.id ?? OperationID(),
            label: "label-\(number(1...4))",
            result: [UInt8](repeating: UInt8(number(48...57)), count: chance(0.2) ? 30_000 : number(1...9))
        )
        return .remember(result, worker)
    }

    private mutating func report(_ held: [Hold]) -> RandomStep {
        let (holds, worker, _) = some(of: held)
        return .report(
            holds.map { Report(fence: $0.fence, id: $0.header.id, content: content()) },
            number: number(0...20),
            worker
        )
    }

    private mutating func content() -> Report.Content {
        switch number(1...5) {
        case 1: .progress(fraction: Double(number(0...4)) / 4, message: "pass \(number(1...3))")
        case 2: .log(line: Array("line \(number(1...99))".utf8))
        case 3: .checkpoint([UInt8(number(0...255)), 0, 10])
        case 4: .cancelStopped
        default: .cancelAcknowledged
        }
    }

    private mutating func reconcile(_ held: [Hold]) -> RandomStep {
        let worker = worker()
        var known = held.filter { $0.worker == worker && chance(0.6) }.map(\.fence)
        if chance(0.3), let old = past.randomElement(using: &chance) { known.append(old.fence) }
        if chance(0.3) { epochs[worker, default: 0] += 1 }
        return .reconcile(known: Array(Set(known)).sorted(), worker, epoch: epochs[worker] ?? 0)
    }

    /// Draws up to four holds of one worker: mostly present ones, sometimes past ones.
    private mutating func some(of held: [Hold]) -> (holds: [Hold], worker: WorkerID, isPast: Bool) {
        let isPast = chance(0.15)
        let worker = (held.randomElement(using: &chance)?.worker).flatMap { chance(0.9) ? $0 : nil } ?? worker()
        let mine = (isPast ? past : held).filter { $0.worker == worker }
        return (Array(mine.shuffled(using: &chance).prefix(number(1...4))), worker, isPast)
    }
}

// MARK: - Operators and chance

extension RandomSteps {
    mutating func ids(_ count: ClosedRange<Int>) -> [OperationID] {
        (0..<number(count)).map { _ in
            let isTracked = chance(0.8)
            return (isTracked ? tracked : untracked).randomElement(using: &chance) ?? newID()
        }
    }

    private mutating func cancelRequest() -> CancelRequest {
        CancelRequest(
            reason: "reason \(number(1...9)) of it",
            by: "tester",
            storesIntent: chance(0.5),
            isForced: chance(0.2)
        )
    }

    private mutating func jump() -> Duration {
        switch number(1...100) {
        case 1...60: .milliseconds(number(0...3000))
        case 61...90: .milliseconds(number(3000...20_000))
        case 91...96: .milliseconds(number(20_000...200_000))
        case 97...98: .milliseconds(number(200_000...4_000_000))
        case 99 where chance(0.3): .seconds(86_400 * number(1...95))
        default: .milliseconds(-number(1...4000))
        }
    }

    private mutating func schedule() -> RandomStep {
        let id = "s\(number(1...3))"
        let due = chance(0.9) ? Int64(number(0...9000)) : nil
        switch number(1...10) {
        case 1...6: return .schedule(id, .set(definition: Array("{\(number(1...9))}".utf8)), due: due)
        case 7: return .schedule(id, .pause, due: nil)
        case 8...9: return .schedule(id, .resume, due: due)
        default: return .schedule(id, nil, due: nil)
        }
    }

    private mutating func command() -> WorkerCommand {
        switch number(1...4) {
        case 1: .quiet
        case 2: .resume
        case 3: .stop
        default: .slots(number(1...9))
        }
    }

    private mutating func worker() -> WorkerID { workers.randomElement(using: &chance) ?? workers[0] }
    mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &chance) }
    mutating func chance(_ probability: Double) -> Bool {
        Double.random(in: 0..<1, using: &chance) < probability
    }
}
