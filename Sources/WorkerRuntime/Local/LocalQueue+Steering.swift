import Operations

/// What an operator may set for a running worker.
extension LocalQueue {
    /// What a heartbeat's reply has changed.
    struct Steered: Sendable {
        var settings: [String] = []
        /// Queues in which something is believed to be ready: another worker should look.
        var left: [String] = []
        var stops = false
        var by = ""
        var isEmpty: Bool { settings.isEmpty }
    }

    /// Takes what operators have set since the last reply of this queue. Other queues of the worker say the same again, which changes nothing.
    mutating func heed(_ new: WorkerSettings, _ index: Int) -> Steered {
        let old = members[index].settings
        guard new != old else { return Steered() }
        members[index].settings = new
        var steered = Steered()
        if let slots = new.slots, slots != old.slots, slots.value != self.slots.count {
            resize(slots.value)
            steered.settings.append("slots \(slots.value)")
            steered.by = slots.by
        }
        if let course = new.course, course != old.course, follow(course.value, &steered) {
            steered.settings.append(course.value.rawValue)
            steered.by = course.by
        }
        return steered
    }

    private mutating func resize(_ count: Int) {
        slots.resize(count)
        for index in members.indices where slots.free <= 0 { returnWaiting(index) }
    }

    /// - Returns: false if the worker does so already, or stops.
    private mutating func follow(_ course: WorkerSettings.Course, _ steered: inout Steered) -> Bool {
        switch (course, phase) {
        case (.running, .quiet):
            phase = .running
            for index in members.indices { members[index].supply.expectWork() }
        case (.quiet, .running):
            phase = .quiet
            steered.left = members.filter { $0.supply.state == .ready }.map(\.share.name)
            for index in members.indices {
                slots.revoke(index)
                returnWaiting(index)
            }
        case (.stop, .running), (.stop, .quiet): steered.stops = true
        case (.running, _), (.quiet, _), (.stop, _): return false
        }
        return true
    }
}

extension WorkerCore {
    /// Does what operators have set.
    func heed(_ settings: WorkerSettings, _ index: Int) {
        let steered = queue.withLock { $0.heed(settings, index) }
        guard !steered.isEmpty else { return }
        logger.notice(
            "an operator has changed this worker",
            metadata: ["to": "\(steered.settings.joined(separator: ", "))", "by": "\(steered.by)"]
        )
        if steered.stops { stopping.stopByOperator() }
        // A claim that waits for a wake-up token is called back; what it brings goes back, too.
        wakeUp.raise()
        beatNow.request()
        guard !steered.left.isEmpty else { return }
        Task { [broker] in
            for queue in steered.left { try? await broker.wake(queue: queue) }
        }
    }
}
