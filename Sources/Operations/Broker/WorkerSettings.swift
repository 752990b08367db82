/// An operator's request to a worker.
package enum WorkerCommand: Sendable, Equatable {
    /// Claim no more operations; running ones continue.
    case quiet
    /// Claim again.
    case resume
    /// Drain and end.
    case stop
    /// Run at most this many operations at once, 1 to 10,000.
    case slots(Int)
}

/// The settings that operators made for one incarnation of a worker, as one of its queues stores them.
package struct WorkerSettings: Sendable, Equatable {
    package enum Course: String, Sendable {
        case running, quiet, stop
    }

    /// A setting and its author.
    package struct Setting<Value: Sendable & Equatable>: Sendable, Equatable {
        package var value: Value
        /// Milliseconds of server time.
        package var at: Int64
        package var by: String

        package init(_ value: Value, at: Int64, by: String) {
            self.value = value
            self.at = at
            self.by = by
        }
    }

    /// Whether the worker runs, is quiet, or stops; nil = no operator has set this.
    package var course: Setting<Course>?
    /// How many operations the worker may run at once; nil = the number with which it was started.
    package var slots: Setting<Int>?

    package init(course: Setting<Course>? = nil, slots: Setting<Int>? = nil) {
        self.course = course
        self.slots = slots
    }

    package var isEmpty: Bool { course == nil && slots == nil }

    /// Stores a request.
    package mutating func set(_ command: WorkerCommand, at: Int64, by: String) {
        switch command {
        case .quiet: course = Setting(.quiet, at: at, by: by)
        case .resume: course = Setting(.running, at: at, by: by)
        case .stop: course = Setting(.stop, at: at, by: by)
        case .slots(let count): slots = Setting(count, at: at, by: by)
        }
    }

    /// Combines the settings of two queues of one worker; the newer ones win.
    package func newest(_ other: WorkerSettings) -> WorkerSettings {
        WorkerSettings(course: Self.newest(course, other.course), slots: Self.newest(slots, other.slots))
    }

    private static func newest<Value>(_ left: Setting<Value>?, _ right: Setting<Value>?) -> Setting<Value>? {
        guard let left, let right else { return left ?? right }
        return right.at > left.at ? right : left
    }
}
