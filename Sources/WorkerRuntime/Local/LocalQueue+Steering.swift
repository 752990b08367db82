import Operations

/// Settings that an operator may make for a running worker.
extension LocalQueue {
    /// The changes of a heartbeat's reply.
    struct Steered: Sendable {
        var settings: [String] = []
        /// Queues in which an operation is believed to be ready: another worker should look.
        var left: [String] = []
        var stops = false
        var by = ""
        var isEmpty: Bool { settings.isEmpty }
    }

    /// Applies the settings that operators have made since the last reply of this queue. Replies of other queues repeat
    /// the settings, which changes nothing.
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

    /// - Returns: false if the worker already does so, or is stopping.
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
    /// Applies the settings that operators have made.
    func heed(_ settings: WorkerSettings, _ index: Int) {
        let steered = queue.withLock { $0.heed(settings, index) }
        guard !steered.isEmpty else { return }
        logger.notice(
            "an operator has changed this worker",
            metadata: ["to": "\(steered.settings.joined(separator: ", "))", "by": "\(steered.by)"]
        )
        if steered.stops { stopping.stopByOperator() }
        // Calls back a claim that waits for a wake-up token; operations that it brings go back as well.
        wakeUp.raise()
        beatNow.request()
        guard !steered.left.isEmpty else { return }
        Task { [broker] in
            for queue in steered.left { try? await broker.wake(queue: queue) }
        }
    }
}
