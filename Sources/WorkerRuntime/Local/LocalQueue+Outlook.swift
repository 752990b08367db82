import Operations

/// Which loops of the worker have something to do after a change, and when.
extension LocalQueue {
    struct Outlook: Sendable {
        /// Queues with a call to send.
        var callers: [Int] = []
        /// True if the worker should wait for a wake-up token of another queue as well.
        var needsWakeUp = false
        /// The instant of `nextAlarm`.
        var alarm: Instant?
    }

    /// Checks every queue once.
    mutating func outlook(_ now: Instant) -> Outlook {
        var outlook = Outlook()
        for index in walk() {
            if hasCall(index, now) { outlook.callers.append(index) }
            if members[index].wait == .none, wantsWakeUp(index, now) { outlook.needsWakeUp = true }
            outlook.alarm = .earlier(outlook.alarm, nextAlarm(of: index, now))
        }
        return outlook
    }

    // MARK: Instants

    /// The next instant at which the worker has to act without a call or a wake-up token.
    func nextAlarm(_ now: Instant) -> Instant? {
        members.indices.reduce(Instant?.none) { .earlier($0, nextAlarm(of: $1, now)) }
    }

    private func nextAlarm(of index: Int, _ now: Instant) -> Instant? {
        let due = members[index].supply.state == .ready ? nil : members[index].supply.nextDue
        return .earlier(due, stallsAt(index, now))
    }

    /// Does the work of the alarms that are due.
    mutating func alarm(_ now: Instant) {
        for index in members.indices { members[index].supply.promote(now) }
        returnStalled(now)
    }

    // MARK: Wake-up tokens

    /// Queues whose wake-up tokens are worth waiting for: an operation could start there, and none is known to be
    /// ready.
    mutating func wakeUpQueues(_ now: Instant) -> [Int] { walk().filter { wantsWakeUp($0, now) } }

    private func wantsWakeUp(_ index: Int, _ now: Instant) -> Bool {
        isQuiet(index, now) && slots.mayUse(index)
    }

    /// Notes that the worker waits for wake-up tokens of these queues.
    mutating func listen(_ indexes: [Int]) {
        for index in indexes { members[index].wait = .listening }
    }

    /// Notes that the wait for wake-up tokens is over.
    mutating func forgetWakeUps() {
        for index in walk() { members[index].wait = .none }
    }
}
