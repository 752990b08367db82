import Logging
import Operations
import Schedules

/// Enqueues the operations of due schedules. Redis accepts each instant once, so several workers may try.
package struct ScheduleFirer: Sendable {
    private static let pause: Int64 = 1000
    let broker: any WorkerBroker
    let seal: (any EnvelopeSeal)?
    let logger: Logger

    package init(broker: any WorkerBroker, seal: (any EnvelopeSeal)?, logger: Logger) {
        self.broker = broker
        self.seal = seal
        self.logger = logger
    }

    /// Reads which schedules are due, and fires one instant of each.
    ///
    /// - Returns: milliseconds until the next instant, 0 if it has come already; nil = no instant is left.
    package func fireDue(_ queue: String) async throws -> Int64? {
        let page = try await broker.dueSchedules(queue: queue)
        var next = page.nextMilliseconds
        // An instant without a schedule stays due. `doctor` finds it.
        if page.schedules.isEmpty, next == 0 { return Self.pause }
        for schedule in page.schedules {
            guard let firing = firing(of: schedule, page.time, queue) else { continue }
            next = try await broker.fire(firing, queue: queue).nextMilliseconds
        }
        return next
    }

    private func firing(of schedule: StoredSchedule, _ now: Int64, _ queue: String) -> ScheduleFiring? {
        guard let due = schedule.due else { return nil }
        do {
            let definition = try ScheduleDefinition(schedule, queue: queue, seal: seal)
            let step = definition.step(due: due, now: now)
            return ScheduleFiring(
                id: schedule.id,
                instant: due,
                revision: schedule.revision,
                next: step.next,
                hasMissed: step.hasMissed,
                operation: try step.enqueued.map { instant throws(OperationsError) in
                    try definition.operation(
                        schedule: schedule.id,
                        queue: queue,
                        instant: instant,
                        now: now,
                        seal: seal
                    )
                }
            )
        } catch {
            logger.error(
                "a schedule cannot enqueue and is stopped; set it again with: sluice schedule add --replace",
                metadata: ["queue": "\(queue)", "schedule": "\(schedule.id)", "error": "\(error)"]
            )
            return ScheduleFiring(
                id: schedule.id,
                instant: due,
                revision: schedule.revision,
                next: nil,
                fault: "\(error)",
                operation: nil
            )
        }
    }
}
