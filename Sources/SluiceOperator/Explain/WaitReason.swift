import Operations
import TerminalText

/// A reason why an operation does not run now, or does not end.
package struct WaitReason: Sendable, Equatable {
    /// A name and a detail that belong to a reason.
    package struct Fact: Sendable, Equatable {
        package var name: String
        package var text: String

        package init(_ name: String, _ text: String) {
            self.name = name
            self.text = text
        }
    }

    /// A clause that can follow "it does not run:", without a full stop.
    package var text: String
    package var facts: [Fact] = []
    /// A command that removes the reason; nil = none.
    package var fix: Remedy?

    package init(_ text: String, _ facts: [Fact] = [], fix: Remedy? = nil) {
        self.text = text
        self.facts = facts
        self.fix = fix
    }
}

/// A kind of reason. To add one, create a value of this type and add it to ``all``.
package struct WaitRule: Sendable {
    /// The stable code in JSON.
    package let code: String
    /// Returns the reason if it applies.
    package let find: @Sendable (Situation) -> WaitReason?

    /// All kinds. The sentence names the first one that applies.
    package static let all: [WaitRule] = [
        .ended, .redisRefusesWrites, .queueCancelled, .cancelling, .held, .needs, .keyTaken, .standingCancel,
        .workerLost, .workerSilent,
        .executing,
        .notDue, .snoozed, .retryDelay, .overdue, .paused, .limited, .rateReached, .keyLimited, .keyRateReached,
        .keyTurn,
        .noWorker, .unknownName, .workersQuiet, .slotsBusy, .backlog, .redisFull,
    ]
}

// MARK: - Running and ended operations

extension WaitRule {
    package static let ended = WaitRule(code: "ended") { situation in
        guard situation.state.isTerminal, !situation.isCancelledWithQueue else { return nil }
        let detail = situation.detail
        var facts: [WaitReason.Fact] = []
        if let error = detail.errors.last { facts.append(.init("error", error.failure.sentence)) }
        if let cancel = detail.cancel { facts.append(.init("cancel", situation.text(of: cancel))) }
        facts += situation.failedMembers
        return WaitReason(
            "it has ended: \(situation.state.rawValue) \(situation.ago(detail.record.endedAt))",
            facts,
            fix: situation.wayBack
        )
    }

    package static let queueCancelled = WaitRule(code: "queueCancelled") { situation in
        guard situation.isCancelledWithQueue else { return nil }
        let cancel = situation.detail.cancel.map { " " + situation.text(of: $0) } ?? ""
        let fix = situation.detail.isGroup ? nil : Remedy.retry(situation.ownName)
        return WaitReason("the whole queue was cancelled\(cancel)", fix: fix)
    }

    package static let held = WaitRule(code: "held") { situation in
        guard let hold = situation.detail.hold else { return nil }
        return WaitReason(
            "it is held, by \(hold.by) \(situation.ago(hold.at))",
            [.init("since", TimeText.rfc3339(hold.at))]
                + (hold.reason.isEmpty ? [] : [WaitReason.Fact("reason", hold.reason)]),
            fix: .release(situation.ownName)
        )
    }

    package static let keyTaken = WaitRule(code: "keyTaken") { situation in
        guard situation.detail.waitsForTurn, let key = situation.detail.uniqueKey else { return nil }
        let holder = situation.detail.keyHolder
        // A forced cancel ends the operation although its body may go on.
        let isStopping = holder.flatMap { situation.needed[DependencyName($0)] }?.state.isTerminal ?? false
        let whose = holder.map { ", which \($0) has" + (isStopping ? " until its body has stopped" : "") } ?? ""
        return WaitReason(
            "it waits for its turn at the unique key \(OperationsError.quoted(key))\(whose)",
            [.init("unique", key)] + (holder.map { [.init("holder", "\($0)")] } ?? []),
            fix: holder.map { isStopping ? .show(DependencyName($0)) : .cancel(DependencyName($0)) }
        )
    }

    package static let standingCancel = WaitRule(code: "standingCancel") { situation in
        guard let cancel = situation.standing else { return nil }
        let reason = cancel.reason.isEmpty ? "" : ": \(cancel.reason)"
        return WaitReason(
            "a standing cancel will cancel it before it starts; set \(situation.ago(cancel.setAt)) "
                + "by \(cancel.by)\(reason)",
            [.init("query", cancel.query), .init("ends", "in \(situation.left(until: cancel.endsAt))")],
            fix: .removeStandingCancel(cancel.id, queue: situation.queue)
        )
    }

    package static let cancelling = WaitRule(code: "cancelling") { situation in
        guard situation.state == .executing, let cancel = situation.detail.cancel else { return nil }
        let acknowledged = cancel.acknowledgedAt.map { "acknowledged \(situation.ago($0))" }
        return WaitReason(
            "a cancel was requested \(situation.text(of: cancel))",
            [.init("worker", acknowledged ?? "not acknowledged yet")],
            fix: .waitForCancel(situation.ownName)
        )
    }

    package static let workerLost = WaitRule(code: "workerLost") { situation in
        guard situation.state == .executing, let owner = situation.owner,
            situation.snapshot.leaseMilliseconds(of: owner) <= 0
        else { return nil }
        let isServed = !situation.liveWorkers.isEmpty
        return WaitReason(
            "its worker \(situation.label(of: owner)) is lost; "
                + LostOutlook.sentence(isServed: isServed, "the operation"),
            [
                .init("lease", "ended \(situation.ago(max(owner.leaseUntil, situation.snapshot.leaseFloor)))"),
                .init("heartbeat", situation.ago(owner.beatAt)),
            ],
            fix: isServed ? nil : .startWorker(queue: situation.queue, handler: nil)
        )
    }

    /// The worker missed at least one heartbeat: more than half of its lease has passed since the last one.
    package static let workerSilent = WaitRule(code: "workerSilent") { situation in
        guard situation.state == .executing, let owner = situation.owner, owner.beatAt > 0 else { return nil }
        let left = situation.snapshot.leaseMilliseconds(of: owner)
        guard left > 0, 2 * (situation.now - owner.beatAt) > owner.leaseUntil - owner.beatAt else { return nil }
        return WaitReason(
            "its worker \(situation.label(of: owner)) sends no heartbeat",
            [
                .init("heartbeat", situation.ago(owner.beatAt)),
                .init(
                    "lease",
                    "ends in \(DurationText.short(.milliseconds(left))); then another worker recovers the operation"
                ),
            ],
            fix: .showWorker(owner.worker)
        )
    }

    package static let executing = WaitRule(code: "executing") { situation in
        guard situation.state == .executing else { return nil }
        let label = situation.owner.map(situation.label) ?? situation.detail.worker ?? "a worker"
        let isLost = situation.owner.map { situation.snapshot.leaseMilliseconds(of: $0) <= 0 } ?? false
        let started = situation.detail.record.startedAt
        var facts: [WaitReason.Fact] = []
        if let progress = situation.detail.progress {
            facts.append(.init("progress", "\(QuantityText.percent(progress.fraction)) \(progress.message)"))
        }
        return WaitReason(
            (isLost ? "it ran on \(label)" : "it runs on \(label)")
                + (started > 0 ? ", started \(situation.ago(started))" : ""),
            facts,
            fix: .followLog(situation.ownName)
        )
    }
}

// MARK: - Due times

extension WaitRule {
    package static let notDue = WaitRule(code: "notDue") { situation in
        let due = situation.detail.record.dueAt
        guard situation.state == .scheduled, due > situation.now, situation.detail.snoozedUntil == nil else {
            return nil
        }
        return WaitReason(
            "it is not due for \(situation.left(until: due))",
            [.init("due", TimeText.rfc3339(due))],
            fix: .retry(situation.ownName)
        )
    }

    package static let snoozed = WaitRule(code: "snoozed") { situation in
        guard let until = situation.detail.snoozedUntil, until > situation.now, let snooze = situation.detail.snooze
        else { return nil }
        var facts: [WaitReason.Fact] = [
            .init("due", TimeText.rfc3339(until)), .init("snoozed", QuantityText.times(snooze.count)),
        ]
        if !snooze.reason.isEmpty { facts.append(.init("reason", snooze.reason)) }
        return WaitReason(
            "it has snoozed: its body runs again in \(situation.left(until: until)), in the same attempt",
            facts,
            fix: .retry(situation.ownName)
        )
    }

    package static let retryDelay = WaitRule(code: "retryDelay") { situation in
        let detail = situation.detail
        guard situation.state == .retrying, detail.record.dueAt > situation.now else { return nil }
        var facts: [WaitReason.Fact] = [
            .init("due", TimeText.rfc3339(detail.record.dueAt)),
            .init("attempts", "\(detail.record.header.failedAttempts) of \(detail.envelope.maxAttempts) failed"),
        ]
        if let error = detail.errors.last { facts.append(.init("error", error.failure.sentence)) }
        return WaitReason(
            "an attempt failed, and the next one is due in \(situation.left(until: detail.record.dueAt))",
            facts,
            fix: .retry(situation.ownName)
        )
    }

    /// The operation is due but not ready, because only a claim makes it ready. Without a worker, or while the queue is
    /// paused, nothing claims it.
    package static let overdue = WaitRule(code: "overdue") { situation in
        let due = situation.detail.record.dueAt
        guard [.scheduled, .retrying].contains(situation.state), due <= situation.now else { return nil }
        return WaitReason(
            "it was due \(situation.ago(due)), and no worker has taken it",
            [.init("due", TimeText.rfc3339(due))]
        )
    }
}

// MARK: - Queue and workers

extension WaitRule {
    package static let paused = WaitRule(code: "paused") { situation in
        guard situation.state.isWaiting, situation.snapshot.paused else { return nil }
        let (until, trace) = (situation.snapshot.pausedUntil, situation.snapshot.pause)
        var sentence = "queue \(situation.queue) is paused "
        sentence += until.map { "for \(situation.left(until: $0))" } ?? "until it is resumed"
        var facts: [WaitReason.Fact] = until.map { [.init("until", TimeText.rfc3339($0))] } ?? []
        if let trace {
            sentence += ", by \(trace.by) \(situation.ago(trace.at))"
            facts.append(.init("since", TimeText.rfc3339(trace.at)))
            if !trace.reason.isEmpty { facts.append(.init("reason", trace.reason)) }
        }
        return WaitReason(
            sentence,
            facts,
            fix: .resumeQueue(situation.queue)
        )
    }

    package static let limited = WaitRule(code: "limited") { situation in
        let (snapshot, executing) = (situation.snapshot, situation.snapshot.counts[.executing] ?? 0)
        guard situation.state.isWaiting, situation.state != .blocked, let limit = snapshot.limits.concurrency,
            executing >= limit
        else { return nil }
        var facts = snapshot.executing.prefix(5).map { row in
            WaitReason.Fact("holds a place", "\(row.header.id) \(row.name) on \(situation.label(ofWorker: row.worker))")
        }
        if executing > facts.count { facts.append(.init("others", QuantityText.grouped(executing - facts.count))) }
        if let set = snapshot.limitsSet { facts.append(.init("set", "\(situation.ago(set.at)) by \(set.by)")) }
        return WaitReason(
            "the limit of queue \(situation.queue) is reached: \(QuantityText.grouped(executing)) of "
                + "\(QuantityText.grouped(limit)) operations run",
            facts,
            fix: .limitQueue(situation.queue, setting: "concurrency=\(min(2 * limit, QueueLimit.most))")
        )
    }

    package static let rateReached = WaitRule(code: "rateReached") { situation in
        let snapshot = situation.snapshot
        guard situation.state.isWaiting, situation.state != .blocked, let rate = snapshot.limits.rate,
            let milliseconds = snapshot.nextStartMilliseconds
        else { return nil }
        var facts = [WaitReason.Fact("next start", "in \(DurationText.precise(.milliseconds(milliseconds)))")]
        if let set = snapshot.limitsSet { facts.append(.init("set", "\(situation.ago(set.at)) by \(set.by)")) }
        let period = rate.period == .seconds(1) ? "s" : DurationText.precise(rate.period)
        return WaitReason(
            "the rate of queue \(situation.queue) is reached: \(LimitText.text(rate))",
            facts,
            fix: .limitQueue(situation.queue, setting: "rate=\(min(2 * rate.count, QueueLimit.most))/\(period)")
        )
    }

    package static let keyLimited = WaitRule(code: "keyLimited") { situation in
        guard situation.detail.waitsForKey, let key = situation.limitKey, key.isFull else { return nil }
        var facts = key.executing.prefix(5).map { WaitReason.Fact("holds a place", "\($0)") }
        if key.row.executing > facts.count {
            facts.append(.init("others", QuantityText.grouped(key.row.executing - facts.count)))
        }
        let limit = key.limit.concurrency ?? 1
        return WaitReason(
            "the limit of key \(key.row.key) is reached: \(QuantityText.grouped(key.row.executing)) of "
                + "\(QuantityText.grouped(limit)) operations run",
            facts,
            fix: .limitKey(
                queue: situation.queue,
                setting: "key:\(key.row.key).concurrency=\(min(2 * limit, QueueLimit.most))"
            )
        )
    }

    package static let keyRateReached = WaitRule(code: "keyRateReached") { situation in
        guard situation.detail.waitsForKey, let key = situation.limitKey, let rate = key.limit.rate,
            let milliseconds = key.row.nextStartMilliseconds
        else { return nil }
        let period = rate.period == .seconds(1) ? "s" : DurationText.precise(rate.period)
        return WaitReason(
            "the rate of key \(key.row.key) is reached: \(LimitText.text(rate))",
            [
                .init("next start", "in \(DurationText.precise(.milliseconds(milliseconds)))"),
                .init("of the key wait", QuantityText.grouped(key.row.waiting)),
            ],
            fix: .limitKey(
                queue: situation.queue,
                setting: "key:\(key.row.key).rate=\(min(2 * rate.count, QueueLimit.most))/\(period)"
            )
        )
    }

    package static let keyTurn = WaitRule(code: "keyTurn") { situation in
        guard situation.detail.waitsForKey, let key = situation.limitKey, !key.isFull,
            key.row.nextStartMilliseconds == nil
        else { return nil }
        let weight = key.limit.weight ?? 1
        return WaitReason(
            "other operations of limit key \(key.row.key) come first: keys share the queue by weight, and only "
                + "\(QuantityText.grouped(weight)) of this key \(weight == 1 ? "waits" : "wait") in a lane at a time",
            [.init("of the key wait", QuantityText.grouped(key.row.waiting))],
            fix: .limitKey(
                queue: situation.queue,
                setting: "key:\(key.row.key).weight=\(min(2 * weight, QueueLimit.heaviest))"
            )
        )
    }

    package static let noWorker = WaitRule(code: "noWorker") { situation in
        guard situation.state.isWaiting, situation.liveWorkers.isEmpty else { return nil }
        let lost = situation.snapshot.workers
        let facts = lost.prefix(5).map {
            WaitReason.Fact("lost", "\(situation.label(of: $0)), heartbeat \(situation.ago($0.beatAt))")
        }
        return WaitReason(
            "no live worker serves queue \(situation.queue)",
            facts,
            fix: .startWorker(queue: situation.queue, handler: nil)
        )
    }

    package static let unknownName = WaitRule(code: "unknownName") { situation in
        guard situation.state.isWaiting, !situation.liveWorkers.isEmpty, situation.knowingWorkers.isEmpty else {
            return nil
        }
        let known = Set(situation.liveWorkers.flatMap { $0.info?.handles ?? [] }).sorted()
        let more = known.count > 20 ? ", and \(known.count - 20) more" : ""
        return WaitReason(
            "no live worker of queue \(situation.queue) knows the name \(situation.name)",
            [.init("known", known.isEmpty ? "none" : known.prefix(20).joined(separator: ", ") + more)],
            fix: .startWorker(queue: situation.queue, handler: situation.name)
        )
    }

    package static let workersQuiet = WaitRule(code: "workersQuiet") { situation in
        let knowing = situation.knowingWorkers
        guard situation.state.isWaiting, !knowing.isEmpty, situation.takers.isEmpty else { return nil }
        let facts = knowing.prefix(5).map { WaitReason.Fact("worker", "\($0.label): \($0.info?.phase ?? "starting")") }
        let quiet = knowing.first { $0.info?.phase == "quiet" }
        return WaitReason(
            "the workers that know its name take no new operations",
            facts,
            fix: quiet.map { .resumeWorker(.init(id: $0.row.worker, label: $0.label)) }
                ?? .startWorker(queue: situation.queue, handler: nil)
        )
    }

    package static let slotsBusy = WaitRule(code: "slotsBusy") { situation in
        let infos = situation.takers.compactMap(\.info)
        guard situation.state == .ready, !infos.isEmpty, infos.allSatisfy({ $0.busy >= $0.slots }) else { return nil }
        let (busy, slots) = infos.reduce((0, 0)) { ($0.0 + $1.busy, $0.1 + $1.slots) }
        return WaitReason(
            "no slot is free: \(busy) of \(slots) slots of the workers that know its name are busy",
            [.init("workers", situation.takers.prefix(5).map(\.label).joined(separator: ", "))],
            fix: .listExecuting
        )
    }

    package static let backlog = WaitRule(code: "backlog") { situation in
        guard let backlog = situation.backlog, backlog.count > 0 || backlog.isLeast else { return nil }
        let least = backlog.isLeast ? "at least " : ""
        let count = QuantityText.grouped(backlog.count)
        var facts: [WaitReason.Fact] = [
            .init(
                "ahead",
                "\(least)\(QuantityText.grouped(backlog.inLane)) of its priority, "
                    + "\(QuantityText.grouped(backlog.inHigherLanes)) of higher priority"
            )
        ]
        facts.append(.init("start", situation.estimate(backlog)))
        return WaitReason(
            "\(least)\(count) \(backlog.count == 1 ? "operation is" : "operations are") ahead of it",
            facts,
            fix: .startWorker(queue: situation.queue, handler: nil)
        )
    }

    /// Bodies go on, but Redis cannot store their ends.
    package static let redisRefusesWrites = WaitRule(code: "redisRefusesWrites") { situation in
        refused(situation, situation.refusals.filter { !$0.isOfNewDataOnly })
    }

    package static let redisFull = WaitRule(code: "redisFull") { situation in
        refused(situation, situation.refusals.filter(\.isOfNewDataOnly))
    }

    private static func refused(_ situation: Situation, _ refusals: [WriteRefusal]) -> WaitReason? {
        guard !situation.state.isTerminal, let first = refusals.first else { return nil }
        let others = refusals.dropFirst().map { WaitReason.Fact("also", $0.sentence) }
        return WaitReason(first.sentence, others + [.init("try", first.fix)], fix: .examine)
    }
}
