import Operations

// Schedules. Like the scripts, the model does not read their definitions.
extension QueueModel {
    /// How late the timer owner of the schedules may be before another worker replaces it.
    private static let passedMilliseconds: Int64 = 1000

    var nextOfSchedules: Int64? { schedules.values.compactMap(\.due).min() }
    var untilNextSchedule: Int64? { nextOfSchedules.map { max(0, $0 - now) } }
    var scheduleSummary: ScheduleSummary { ScheduleSummary(count: schedules.count, next: nextOfSchedules) }

    mutating func setSchedule(_ change: ScheduleChange, by: String) -> ScheduleOutcome {
        let known = schedules[change.id]
        guard (known?.revision ?? 0) == change.revision else { return .outdated }
        let before = nextOfSchedules
        var definition = known?.definition ?? []
        if case .set(let new) = change.kind { definition = new } else if known == nil { return .outdated }
        if known == nil, schedules.count >= StoredSchedule.limit { return .full }
        scheduleRevision += 1
        var schedule = StoredSchedule(
            id: change.id,
            revision: scheduleRevision,
            isPaused: change.isPaused,
            changedAt: now,
            changedBy: by,
            definition: definition,
            due: change.due,
            runs: known?.runs ?? StoredSchedule.Runs()
        )
        schedule.runs.fault = nil
        schedules[change.id] = schedule
        if let next = nextOfSchedules, before.map({ next < $0 }) ?? true { announceSchedules() }
        let detail = change.id + (change.detail.isEmpty ? "" : " \(change.detail)")
        effects.change = QueueChange(change.verb, by: by, detail: detail)
        return .done(revision: scheduleRevision)
    }

    mutating func removeSchedule(_ id: String, by: String) -> Bool {
        guard schedules.removeValue(forKey: id) != nil else { return false }
        if schedules.isEmpty { scheduleWatcher = nil }
        effects.change = QueueChange(.removeSchedule, by: by, detail: id)
        return true
    }

    func schedules(after id: String?) -> SchedulePage {
        page(schedules.values.filter { $0.id > id ?? "" }.sorted { $0.id < $1.id }, StoredSchedule.pageLimit)
    }

    func schedule(_ id: String) -> SchedulePage { page(schedules[id].map { [$0] } ?? [], 1) }

    var dueSchedules: SchedulePage {
        let due = schedules.values.filter { $0.due.map { $0 <= now } ?? false }
        return page(due.sorted { ($0.due ?? 0, $0.id) < ($1.due ?? 0, $1.id) }, StoredSchedule.dueLimit)
    }

    private func page(_ all: [StoredSchedule], _ limit: Int) -> SchedulePage {
        var (taken, bytes) = ([StoredSchedule](), 0)
        for schedule in all where taken.count < limit && bytes < Self.replyBytes {
            taken.append(schedule)
            bytes += schedule.definition.count
        }
        return SchedulePage(
            time: now,
            schedules: taken,
            more: taken.count < all.count,
            nextMilliseconds: untilNextSchedule
        )
    }

    /// Fires an instant of a schedule, once: the first call that names the next instant does it.
    mutating func fire(_ firing: ScheduleFiring) -> FiringReply {
        guard var schedule = schedules[firing.id], schedule.due == firing.instant,
            schedule.revision == firing.revision, firing.instant <= now
        else { return FiringReply(isDone: false, nextMilliseconds: untilNextSchedule) }
        if let operation = firing.operation {
            switch enqueue([operation])[0] {
            case .created, .exists:
                schedule.runs.enqueued += 1
                schedule.runs.last = (firing.instant, "\(operation.id)")
            case .taken, .crowded, .unknownDependency, .closedGroup, .staleRun:
                schedule.runs.overlappedAt = firing.instant
            }
        }
        if firing.hasMissed { schedule.runs.missedAt = firing.instant }
        schedule.runs.fault = firing.fault
        schedule.due = firing.fault == nil ? firing.next : nil
        schedules[firing.id] = schedule
        if let fault = firing.fault {
            effects.change = QueueChange(.stopSchedule, by: "-", detail: "\(firing.id): \(fault)")
        }
        return FiringReply(isDone: true, nextMilliseconds: untilNextSchedule)
    }

    private mutating func announceSchedules() { effects.messages.append((nil, .schedules)) }

    /// Milliseconds until this worker should look for due schedules; nil = another worker does, or nothing will be due.
    mutating func watchSchedules(_ worker: String) -> Int64? {
        guard let due = nextOfSchedules else { return nil }
        if let watcher = scheduleWatcher, watcher != worker, let lease = leases[watcher], lease >= now,
            now - due < Self.passedMilliseconds
        {
            return nil
        }
        scheduleWatcher = worker
        return max(0, due - now)
    }

    mutating func leaveSchedules(_ worker: String) {
        guard scheduleWatcher == worker else { return }
        scheduleWatcher = nil
        if nextOfSchedules != nil { announceSchedules() }
    }
}
