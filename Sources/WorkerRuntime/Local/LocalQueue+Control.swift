import Operations

/// Settings that an operator may make for a running worker.
extension LocalQueue {
    /// The changes of a heartbeat's reply.
    struct Controlled: Sendable {
        var settings: [String] = []
        /// Queues in which an operation is believed to be ready: another worker should look.
        var left: [String] = []
        var stops = false
        var by = ""
        var isEmpty: Bool { settings.isEmpty }
    }

    /// Applies the settings that operators have made since the last reply of this queue. Replies of other queues repeat
    /// the settings, which changes nothing.
    mutating func heed(_ new: WorkerSettings, _ index: Int) -> Controlled {
        let old = members[index].settings
        guard new != old else { return Controlled() }
        members[index].settings = new
        var controlled = Controlled()
        if let slots = new.slots, slots != old.slots, slots.value != self.slots.count {
            resize(slots.value)
            controlled.settings.append("slots \(slots.value)")
            controlled.by = slots.by
        }
        if let course = new.course, course != old.course, follow(course.value, &controlled) {
            controlled.settings.append(course.value.rawValue)
            controlled.by = course.by
        }
        return controlled
    }

    private mutating func resize(_ count: Int) {
        slots.resize(count)
        for index in members.indices where slots.free <= 0 { returnWaiting(index) }
    }

    /// - Returns: false if the worker already does so, or is stopping.
    private mutating func follow(_ course: WorkerSettings.Course, _ controlled: inout Controlled) -> Bool {
        switch (course, phase) {
        case (.running, .quiet):
            phase = .running
            for index in members.indices { members[index].supply.expectWork() }
        case (.quiet, .running):
            phase = .quiet
            controlled.left = members.filter { $0.supply.state == .ready }.map(\.share.name)
            for index in members.indices {
                slots.revoke(index)
                returnWaiting(index)
            }
        case (.stop, .running), (.stop, .quiet): controlled.stops = true
        case (.running, _), (.quiet, _), (.stop, _): return false
        }
        return true
    }
}

extension WorkerCore {
    /// Applies the settings that operators have made.
    func heed(_ settings: WorkerSettings, _ index: Int) {
        let controlled = queue.withLock { $0.heed(settings, index) }
        guard !controlled.isEmpty else { return }
        logger.notice(
            "an operator has changed this worker",
            metadata: ["to": "\(controlled.settings.joined(separator: ", "))", "by": "\(controlled.by)"]
        )
        if controlled.stops { stopping.stopByOperator() }
        // Calls back a claim that waits for a wake-up token; operations that it brings go back as well.
        wakeUp.raise()
        beatNow.request()
        guard !controlled.left.isEmpty else { return }
        Task { [broker] in
            for queue in controlled.left { try? await broker.wake(queue: queue) }
        }
    }
}
