/// Wakes the worker at instants for which no wake-up token comes: when a scheduled operation is due, and when
/// operations claimed ahead should go back.
struct AlarmLoop: Sendable {
    let core: WorkerCore

    func run() async {
        while !Task.isCancelled {
            let next = core.queue.withLock { queue in
                let next = queue.nextAlarm(.now)
                queue.alarmSet = next
                return next
            }
            guard let next else {
                await core.alarm.wait()
                continue
            }
            if next > .now { await core.alarm.wait(until: next) }
            if next <= .now { core.change { queue, now in queue.alarm(now) } }
        }
    }
}
