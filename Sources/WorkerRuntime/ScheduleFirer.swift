import Logging
import Operations
import Schedules
import Synchronization

/// Enqueues the operations of due schedules. Redis accepts each instant once, so several workers may try.
package struct ScheduleFirer: Sendable {
    private static let pause: Int64 = 1000
    let broker: any WorkerBroker
    let seal: (any EnvelopeSeal)?
    let middleware: MiddlewareChain
    let logger: Logger

    package init(
        broker: any WorkerBroker,
        seal: (any EnvelopeSeal)?,
        middleware: MiddlewareChain = MiddlewareChain(),
        logger: Logger
    ) {
        self.broker = broker
        self.seal = seal
        self.middleware = middleware
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
            next = try await fire(firing, queue).nextMilliseconds
        }
        return next
    }

    /// Passes the operation of an instant through the middleware, and fires the instant. If a middleware refuses the
    /// operation, fires the instant without it.
    private func fire(_ firing: ScheduleFiring, _ queue: String) async throws -> FiringReply {
        guard let operation = firing.operation, !middleware.isEmpty else { return try await send(firing, queue) }
        let isSent = Atomic(false)
        do {
            return try await middleware.enqueue([operation], queue: queue, isDue: true) { [self, firing] operations in
                isSent.store(true, ordering: .relaxed)
                var firing = firing
                firing.operation = operations[0]
                let reply = try await send(firing, queue)
                return (reply, [EnqueuedOperation(id: operation.id, isNew: reply.isDone)])
            }
        } catch {
            // A worker that stops leaves the instant to the next one.
            let mustStop = error is CancellationError || Task.isCancelled
            guard !isSent.load(ordering: .relaxed), !mustStop else { throw error }
            logger.warning(
                "a middleware refuses the operation of a schedule; the schedule skips this instant",
                metadata: ["queue": "\(queue)", "schedule": "\(firing.id)", "error": "\(error.text)"]
            )
            var firing = firing
            firing.operation = nil
            return try await send(firing, queue)
        }
    }

    /// Signs and encrypts the operation if the worker has keys, and fires the instant.
    private func send(_ firing: ScheduleFiring, _ queue: String) async throws -> FiringReply {
        var firing = firing
        if let seal, let operation = firing.operation {
            do throws(OperationsError) {
                firing.operation?.envelope = try seal.seal(operation.envelope, id: operation.id, queue: queue)
            } catch {
                firing = stop(firing.id, firing.instant, firing.revision, queue, because: error)
            }
        }
        return try await broker.fire(firing, queue: queue)
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
                operation: step.enqueued.map { instant in
                    definition.operation(schedule: schedule.id, queue: queue, instant: instant, now: now)
                }
            )
        } catch {
            return stop(schedule.id, due, schedule.revision, queue, because: error)
        }
    }

    /// Returns the firing that stops a schedule.
    private func stop(
        _ id: String,
        _ instant: Int64,
        _ revision: Int64,
        _ queue: String,
        because error: any Error
    ) -> ScheduleFiring {
        logger.error(
            "a schedule cannot enqueue and is stopped; set it again with: sluice schedule add --replace",
            metadata: ["queue": "\(queue)", "schedule": "\(id)", "error": "\(error)"]
        )
        return ScheduleFiring(
            id: id,
            instant: instant,
            revision: revision,
            next: nil,
            fault: "\(error)",
            operation: nil
        )
    }
}
