import Logging
import Operations
import Synchronization

/// When this worker should look for due schedules, from the heartbeats.
final class ScheduleWatch: Sendable {
    private let times = Mutex<[Int: ContinuousClock.Instant]>([:])
    let signal = Signal()

    /// Notes when to look into a queue.
    ///
    /// - Parameter milliseconds: the time from now on; nil = another worker looks.
    func note(_ index: Int, _ milliseconds: Int64?) {
        let time = milliseconds.map { ContinuousClock.now + .milliseconds($0) }
        let hasChanged = times.withLock { times in
            defer { times[index] = time }
            return times[index] != time
        }
        if hasChanged { signal.raise() }
    }

    var next: ContinuousClock.Instant? { times.withLock { $0.values.min() } }

    /// Takes the queues to look into now. A queue is looked into again when a new time is noted.
    func takeDue(_ now: ContinuousClock.Instant) -> [Int] {
        times.withLock { times in
            let due = times.filter { $0.value <= now }.map(\.key)
            for index in due { times[index] = nil }
            return due.sorted()
        }
    }
}

/// Enqueues the operations of due schedules, even while all slots are busy.
///
/// One pass:
/// 1. Waits for the instant that a heartbeat has brought. One worker of a queue gets it; if that worker is gone or
///    late, the heartbeat of another one gets it.
/// 2. Reads which schedules are due.
/// 3. Computes the operation and the next instant of each, and fires it. Redis accepts each instant once, so several
///    workers may try.
/// 4. Notes the next instant from the answers.
struct ScheduleLoop: Sendable {
    private static let pause: Int64 = 1000
    let core: WorkerCore

    func run() async {
        while !Task.isCancelled {
            if let next = core.schedules.next {
                if next > .now { await core.schedules.signal.wait(until: next) }
            } else {
                await core.schedules.signal.wait()
            }
            await runOnce()
        }
    }

    /// Fires the due schedules of all queues.
    func runOnce() async { for index in core.schedules.takeDue(.now) where !Task.isCancelled { await fireDue(index) } }

    private func fireDue(_ index: Int) async {
        let queue = core.queueNames[index]
        do {
            let firer = ScheduleFirer(
                broker: core.broker,
                seal: core.seal,
                middleware: core.middleware,
                logger: core.logger
            )
            core.schedules.note(index, try await firer.fireDue(queue))
        } catch {
            core.logger.info("a schedule was not fired", metadata: ["queue": "\(queue)", "error": "\(error)"])
            core.schedules.note(index, Self.pause)
        }
    }
}
