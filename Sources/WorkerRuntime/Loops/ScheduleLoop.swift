import Logging
import Operations
import Synchronization

/// When this worker should look for schedules that are due, as the heartbeats say.
final class ScheduleWatch: Sendable {
    private let times = Mutex<[Int: ContinuousClock.Instant]>([:])
    let signal = Signal()

    /// - Parameter milliseconds: from now on; nil = another worker looks.
    func note(_ index: Int, _ milliseconds: Int64?) {
        let time = milliseconds.map { ContinuousClock.now + .milliseconds($0) }
        let hasChanged = times.withLock { times in
            defer { times[index] = time }
            return times[index] != time
        }
        if hasChanged { signal.raise() }
    }

    var next: ContinuousClock.Instant? { times.withLock { $0.values.min() } }

    /// The queues to look into now. They are looked into again when something is noted.
    func takeDue(_ now: ContinuousClock.Instant) -> [Int] {
        times.withLock { times in
            let due = times.filter { $0.value <= now }.map(\.key)
            for index in due { times[index] = nil }
            return due.sorted()
        }
    }
}

/// Enqueues what schedules have for the instants that have come, also where all slots are busy.
///
/// One pass:
/// 1. Waits until a heartbeat's instant has come. One worker of a queue gets it; if it is gone or late, another one's heartbeat does.
/// 2. Reads which schedules are due.
/// 3. Computes what each enqueues, and its next instant, and fires it. Redis takes each instant once, so it does no harm if others try.
/// 4. Notes the next instant, which the answers say.
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
            for index in core.schedules.takeDue(.now) where !Task.isCancelled { await fireDue(index) }
        }
    }

    private func fireDue(_ index: Int) async {
        let queue = core.queueNames[index]
        do {
            let firer = ScheduleFirer(broker: core.broker, seal: core.seal, logger: core.logger)
            core.schedules.note(index, try await firer.fireDue(queue))
        } catch {
            core.logger.info("a schedule was not fired", metadata: ["queue": "\(queue)", "error": "\(error)"])
            core.schedules.note(index, Self.pause)
        }
    }
}
