import Operations

extension QueueModel {
    /// Renews a lease and answers with the state of the queue. After a gap in the queue's heartbeats, or after a clock
    /// that went back, no lease lapses for the lease time of this worker. A gap is a silence so long that a lease which
    /// was renewed up to one interval before may have lapsed.
    mutating func beat(_ beat: Beat) -> BeatReply {
        let worker = beat.worker.description
        let seen = lastSeen ?? now
        let slack = beat.intervalMilliseconds + Self.outageSlackMilliseconds
        let gap = min(slack, (2 * beat.leaseMilliseconds - 3 * beat.intervalMilliseconds) / 2)
        let isGap = now - seen > gap || now < seen
        if isGap { leaseFloor = now + beat.leaseMilliseconds }
        // Only a worker that comes back proves an outage; otherwise there may have been no workers.
        if leaseFloor >= now, let heldUntil = leases[worker], isGap || heldUntil < now { outageUntil = leaseFloor }
        lastSeen = now
        longestGap = gap
        leases[worker] = now + beat.leaseMilliseconds
        let isNew = (workers[worker]?.beatAt ?? 0) == 0
        if isNew, let build = beat.build { note(build: build) }
        workers[worker, default: HeldOperations()].note(epoch: beat.epoch)
        workers[worker]?.beatAt = now
        workers[worker]?.info = beat.info
        var counts = take(beat.statistics.map { [$0] } ?? [], of: worker)
        counts.enqueued += countEnqueued()
        addMinute(counts)
        let settings = workers[worker]?.settings ?? WorkerSettings()
        // A worker that no longer claims cannot be the timer owner.
        if let course = settings.course?.value, course != .running { dropWatch(of: worker) }
        return BeatReply(
            inFlight: workers[worker]?.inFlight.count ?? 0,
            startable: isStartable,
            sweepDue: lapsedWorker != nil || !batches.isEmpty || outbox.count > 0 || !outboxes.isEmpty
                || isAskDue || nextExpiry.map { $0 <= now } ?? false,
            cancels: workers[worker]?.cancelRequests ?? [],
            cancelledThroughFence: cancelledFence,
            queueCancel: queueCancel?.cancellation,
            newestUnhandled: newestUnhandled,
            unhandled: beat.unhandledSeen == newestUnhandled ? [] : unhandledInOrder.reversed().map(\.name),
            settings: settings,
            time: now,
            room: room.map { left in Room(left: left, ahead: places.map { $0 / (2 * leases.count) }) },
            scheduleMilliseconds: watchSchedules(worker)
        )
    }

    func requestedCancels(of fences: [Int64], worker: String) -> RequestedCancels {
        RequestedCancels(
            cancels: fences.compactMap { workers[worker]?.cancelRequest(of: $0) },
            throughFence: cancelledFence,
            queueCancel: queueCancel?.cancellation
        )
    }

    private var isStartable: Bool {
        !isPaused && room != 0 && (lanes.contains { !$0.isEmpty } || nextDue.map { $0 <= now } ?? false)
    }

    /// The lapsed worker whose lease ended first.
    private var lapsedWorker: String? {
        guard leaseFloor < now else { return nil }
        return leases.filter { $0.value < now }.min { ($0.value, $0.key) < ($1.value, $1.key) }?.key
    }

    /// Compares the fences that a worker knows with those that it holds. One call finds at most 200 unknown operations
    /// and about 256 KiB, the oldest first.
    mutating func reconcile(known: [Int64], worker: String, epoch: Int) -> Reconciliation {
        workers[worker, default: HeldOperations()].note(epoch: epoch)
        let held = workers[worker]?.inFlight ?? [:]
        let standing = takeLiveRevision()
        let unknown = Set(held.keys).subtracting(known).sorted()
        var reply = Reconciliation(found: [], lost: known.filter { held[$0] == nil }, more: false)
        var bytes = 0
        for fence in unknown {
            guard let element = held[fence] else { continue }
            let envelope = envelope(of: element)
            bytes += OperationHeader.byteCount + envelope.count
            if reply.found.count == Self.sweepLimit || !reply.found.isEmpty && bytes > Self.replyBytes {
                reply.more = true
                break
            }
            reply.found.append(
                ClaimedOperation(fence: fence, header: element.header, envelope: envelope, standing: standing)
            )
        }
        return reply
    }

    /// Removes a worker that holds nothing. A worker that holds operations keeps its lease until the lease lapses.
    mutating func retire(worker: String, statistics: [StatisticsDelta] = []) {
        guard workers[worker]?.inFlight.isEmpty ?? true else { return }
        addMinute(take(statistics, of: worker))
        leases[worker] = nil
        freeStoppedKeys(of: worker)
        workers[worker] = nil
        for (id, stored) in operations where stored.ranOn == worker { operations[id]?.ranOn = nil }
        dropWatch(of: worker)
        leaveSchedules(worker)
    }

    /// Gives up the timer of the worker, and wakes another worker to take it over.
    private mutating func dropWatch(of worker: String) {
        guard timerOwner?.worker == worker else { return }
        timerOwner = nil
        wake()
    }
}

// MARK: - Sweeping

extension QueueModel {
    /// How many operations one sweep expires. No claim expires them in a paused queue, or while all slots are busy.
    private static let expiredAtOnce = 100

    /// Does one bounded step of the work that is left, the first of these that applies:
    ///
    /// - recover the operations of one lapsed worker, at most 200 and about 256 KiB, the oldest first;
    /// - clear away a part of one cancelled batch;
    /// - expire at most 100 operations and limit keys;
    /// - notify dependents of ends.
    ///
    /// Only a heartbeat notices that the broker was away or that its clock was set. A sweep that comes before it takes
    /// no worker for dead.
    mutating func sweep() -> SweepReply {
        var reply = SweepReply()
        var expired = 0
        if let worker = lapsedWorkerNow {
            recoverAll(of: worker, because: .lease, reply: &reply)
        } else if !batches.isEmpty {
            reply.cleared = clearBatch()
        } else {
            expired = expire(limit: Self.expiredAtOnce)
            if expired == 0 { clearOutbox() }
        }
        reply.more = expired == Self.expiredAtOnce || lapsedWorkerNow != nil || !batches.isEmpty || outbox.count > 0
        return reply
    }

    private var lapsedWorkerNow: String? {
        let seen = lastSeen ?? now
        guard now >= seen, longestGap.map({ now - seen <= $0 }) ?? true else { return nil }
        return lapsedWorker
    }

    /// Recovers the operations of a worker as a sweep does, whatever its lease and the lease floor say.
    mutating func recoverWorker(worker: String) -> SweepReply {
        var reply = SweepReply()
        guard leases[worker] != nil || holdsSomething(worker) else { return reply }
        leases[worker] = now - 1
        recoverAll(of: worker, because: .process, reply: &reply)
        reply.more = holdsSomething(worker)
        return reply
    }

    private func holdsSomething(_ worker: String) -> Bool { !(workers[worker]?.inFlight.isEmpty ?? true) }

    private mutating func recoverAll(of worker: String, because cause: Recovery.Cause, reply: inout SweepReply) {
        let fences = (workers[worker]?.inFlight ?? [:]).keys.sorted()
        let count = countWithinLimits(fences, of: worker)
        var fate = LostWorker(worker: worker, lostAt: leases[worker] ?? now, recoveredAt: now, beatAt: 0)
        for fence in fences.prefix(count).reversed() {
            if let element = workers[worker]?.inFlight[fence] { keepRecovery(of: element, worker, cause) }
            recover(fence, of: worker, fate: &fate)
        }
        if !fate.operations.isEmpty {
            let name = Recovery.text(workers[worker].flatMap { WorkerInfo($0.info) }?.name)
            let detail = (name.isEmpty ? "" : name + ": ") + cause.sentence
            effects.change = QueueChange(.recover, by: worker, count: fate.operations.count, detail: detail)
            effects.subject = fate.operations.first
        }
        reply.recovered += fate.recovered
        reply.dead += fate.dead
        keepLost(fate)
        guard fences.count == count else { return }
        leases[worker] = nil
        freeStoppedKeys(of: worker)
        workers[worker]?.cancelling = [:]
        workers[worker]?.forced = [:]
        dropWatch(of: worker)
    }

    /// Adds to the history of a lost worker. Forgets entries that are too old or too many: the oldest first, at most
    /// 100 a call.
    private mutating func keepLost(_ fate: LostWorker) {
        let before = lost[fate.worker]
        var fate = fate
        fate.recovered += before?.recovered ?? 0
        fate.dead += before?.dead ?? 0
        fate.cancelled += before?.cancelled ?? 0
        fate.operations = Array((fate.operations + (before?.operations ?? [])).prefix(LostWorker.named))
        fate.beatAt = workers[fate.worker]?.beatAt ?? before?.beatAt ?? 0
        fate.info = workers[fate.worker]?.info ?? before?.info ?? []
        if fate.info.count > Self.lostInfoBytes { fate.info = [] }
        lost[fate.worker] = fate
        let surplus = lost.count - SluiceDefaults.lostWorkersKept
        let old = lostInOrder.enumerated().prefix { $0.offset < surplus || isForgotten($0.element) }
        for worker in old.prefix(Self.lostForgottenAtOnce).map(\.element.worker) { lost[worker] = nil }
    }

    private mutating func keepRecovery(of element: LaneElement, _ worker: String, _ cause: Recovery.Cause) {
        guard element.header.tracked, let record = operations[element.id]?.record else { return }
        var recovery = Recovery(
            at: now,
            startedAt: record.startedAt,
            attempt: element.header.failedAttempts + 1,
            delivery: element.header.delivery,
            cause: cause,
            worker: worker
        )
        let info = workers[worker].flatMap { WorkerInfo($0.info) }
        (recovery.name, recovery.host) = (Recovery.text(info?.name), Recovery.text(info?.host))
        let all = (operations[element.id]?.recoveries ?? []) + [recovery]
        operations[element.id]?.recoveries = all.suffix(Recovery.kept)
    }

    /// How many of the oldest operations one call recovers: at most 200, and about 256 KiB.
    private func countWithinLimits(_ fences: [Int64], of worker: String) -> Int {
        var bytes = 0
        for (index, fence) in fences.prefix(Self.sweepLimit).enumerated() {
            bytes += OperationHeader.byteCount + (workers[worker]?.inFlight[fence]?.envelope.count ?? 0)
            if bytes > Self.replyBytes { return max(1, index) }
        }
        return min(fences.count, Self.sweepLimit)
    }

    /// Recovers one operation. The operation keeps its attempt, unless it has used all deliveries or its cancel was
    /// requested. The record forgets the fence, so a late write of the lost run is stale.
    private mutating func recover(_ fence: Int64, of worker: String, fate: inout LostWorker) {
        guard let (element, order) = release(fence, of: worker, id: nil) else { return }
        // An erased tracked operation is not named.
        if !element.header.tracked || operations[element.id] != nil { fate.operations.append(element.id) }
        noteLarge(element)
        let isLast = element.header.delivery >= SluiceDefaults.maxDeliveries
        let cancels = isCancelled(fence: fence, order: order)
        let isRecorded = cancels || element.header.delivery + 1 >= SluiceDefaults.maxDeliveries
        if isRecorded, !hasRecord(element) { return }
        if isRecorded || element.header.tracked { operations[element.id]?.record.fence = 0 }
        if cancels {
            endCancelled(element.id, order: order, usesAttempt: true)
            fate.cancelled += 1
        } else if isLast {
            keepError(lostError(element.header), of: element.id)
            end(element.id, as: .dead, usesAttempt: true)
            fate.dead += 1
        } else {
            putBackLost(element)
            add("recovered")
            fate.recovered += 1
        }
    }

    /// Puts a recovered operation back. Before its last delivery it waits for a time that follows from its id. One of
    /// several operations that were lost together may kill workers, so they must not run together again.
    private mutating func putBackLost(_ element: LaneElement) {
        let delivery = element.header.delivery + 1
        guard delivery == SluiceDefaults.maxDeliveries else {
            return putBack(element, delivery: delivery, keepsExpiry: false)
        }
        let number = Int64(element.id.description.suffix(4), radix: 36) ?? 0
        let due = now + number * 7919 % Self.lastDeliverySpreadMilliseconds
        operations[element.id]?.record.header.delivery = delivery
        operations[element.id]?.record.header.readyAt = due
        operations[element.id]?.record.header.expiresAt = 0
        operations[element.id]?.record.state = .scheduled
        scheduled.insert(element.id, score: due)
        event(element.id, .scheduled)
        announce(due: due)
    }

    private func lostError(_ header: OperationHeader) -> [UInt8] {
        let message =
            "this attempt lost its worker \(header.delivery) times, the most allowed: "
            + "check for crashes and memory limits"
        return OperationFailure(
            type: "lost",
            message: message,
            attempt: header.failedAttempts + 1,
            delivery: header.delivery
        ).encoded()
    }

    /// Clears away a part of the oldest batch: at most 80 elements and about 256 KiB, from its first lane that has any,
    /// otherwise from its sets. Untracked operations vanish; tracked ones become cancelled records.
    ///
    /// - Returns: the number of elements, including stale references; 0 = nothing is left in the batch.
    private mutating func clearBatch() -> Int {
        guard var batch = batches.first else { return 0 }
        var ids: [OperationID] = []
        let number = batch.takeNext(limit: Self.clearLimit, into: &ids)
        if number == 0 { batches.removeFirst() } else { batches[0] = batch }
        for id in ids {
            guard let record = operations[id]?.record, record.state.isWaiting,
                record.header.sequence <= batch.sequence
            else { continue }
            revise(id)
            clearRecord(id, cancel: batch.cancel)
        }
        return number
    }

    /// Ends one operation without a count and without an event, because the cancel of the queue did both.
    private mutating func clearRecord(_ id: OperationID, cancel: CancelIntent) {
        if operations[id]?.cancel == nil { operations[id]?.cancel = cancel }
        operations[id]?.unhandledName = nil
        noteEnd(id, as: .cancelled, at: cancel.at)
    }
}

extension CancelledBatch {
    /// Takes elements out. Returns their number, and appends the ids of tracked ones to `ids`.
    fileprivate mutating func takeNext(limit: Int, into ids: inout [OperationID]) -> Int {
        if let lane = lanes.firstIndex(where: { !$0.isEmpty }) {
            var (number, bytes) = (0, 0)
            while number < limit, bytes < QueueModel.replyBytes, let element = lanes[lane].popFirst() {
                number += 1
                bytes += OperationHeader.byteCount + element.envelope.count
                if element.header.tracked { ids.append(element.id) }
            }
            return number
        }
        while ids.count < limit, let entry = scheduled.popFirst() { ids.append(entry.id) }
        if !ids.isEmpty { return ids.count }
        while ids.count < limit, let entry = retrying.popFirst() { ids.append(entry.id) }
        if !ids.isEmpty { return ids.count }
        while ids.count < limit, let entry = blocked.popFirst() { ids.append(entry.id) }
        if !ids.isEmpty { return ids.count }
        guard let name = unhandled.min(by: { ($0.value.set.count, $0.key) < ($1.value.set.count, $1.key) })?.key else {
            return takeNextOfKey(limit: limit, into: &ids)
        }
        while ids.count < limit, let entry = unhandled[name]?.set.popFirst() { ids.append(entry.id) }
        if ids.count < limit { unhandled[name] = nil }
        return max(1, ids.count)
    }

    private mutating func takeNextOfKey(limit: Int, into ids: inout [OperationID]) -> Int {
        if keyed.isEmpty { return 0 }
        while ids.count < limit, let entry = keyed[0].waiting.popFirst() { ids.append(entry.id) }
        if ids.count < limit { keyed.removeFirst() }
        return max(1, ids.count)
    }
}
