import Operations

/// Which loops of the worker have something to do after a change, and when.
extension LocalQueue {
    struct Outlook: Sendable {
        /// Queues with something to send.
        var callers: [Int] = []
        /// The worker should wait for a wake-up token of another queue as well.
        var needsWakeUp = false
        /// As `nextAlarm`.
        var alarm: Instant?
    }

    /// Looks at every queue once.
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

    /// The next instant at which something is to be done without a call or a wake-up token.
    func nextAlarm(_ now: Instant) -> Instant? {
        members.indices.reduce(Instant?.none) { .earlier($0, nextAlarm(of: $1, now)) }
    }

    private func nextAlarm(of index: Int, _ now: Instant) -> Instant? {
        let due = members[index].supply.state == .ready ? nil : members[index].supply.nextDue
        return .earlier(due, stallsAt(index, now))
    }

    /// Does what is to be done at this instant.
    mutating func alarm(_ now: Instant) {
        for index in members.indices { members[index].supply.promote(now) }
        returnStalled(now)
    }

    // MARK: Wake-up tokens

    /// Queues for whose wake-up tokens it makes sense to wait: something could be started there, and nothing is known to be there.
    mutating func wakeUpQueues(_ now: Instant) -> [Int] { walk().filter { wantsWakeUp($0, now) } }

    private func wantsWakeUp(_ index: Int, _ now: Instant) -> Bool {
        isQuiet(index, now) && slots.mayUse(index)
    }

    /// The worker waits for wake-up tokens of these queues.
    mutating func listen(_ indexes: [Int]) {
        for index in indexes { members[index].wait = .listening }
    }

    /// The wait for wake-up tokens is over.
    mutating func forgetWakeUps() {
        for index in walk() { members[index].wait = .none }
    }
}
