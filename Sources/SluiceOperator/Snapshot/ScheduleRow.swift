import Operations

/// One schedule to show.
package struct ScheduleRow: Sendable, Equatable {
    package var queue: String
    package var stored: StoredSchedule

    package init(queue: String, _ stored: StoredSchedule) {
        self.queue = queue
        self.stored = stored
    }

    /// The reason why the schedule does not run; nil = it has a next instant.
    package var standstill: String? {
        if stored.isPaused { return "paused" }
        if stored.due != nil { return nil }
        return stored.runs.fault == nil ? "over" : "stopped"
    }

    /// Sorts schedules by their next instants. Schedules without one come last.
    package static func sorted(_ rows: [ScheduleRow]) -> [ScheduleRow] {
        rows.sorted { ($0.order, $0.queue, $0.stored.id) < ($1.order, $1.queue, $1.stored.id) }
    }

    private var order: Int64 { standstill == nil ? stored.due ?? .max : .max }
}

extension ScheduleReading {
    /// Reads the schedules of the first queues that have any, at most a page from each.
    package func scheduleRows(of snapshot: NamespaceSnapshot, queues: Int) async throws -> [ScheduleRow] {
        var rows: [ScheduleRow] = []
        for queue in snapshot.queues.filter({ $0.schedules.count > 0 }).prefix(queues).map(\.queue) {
            rows += try await schedules(queue: queue, after: nil).schedules.map { ScheduleRow(queue: queue, $0) }
        }
        return ScheduleRow.sorted(rows)
    }
}
