import Operations
import RedisClient

extension RedisBroker {
    package func control(_ command: WorkerCommand, worker: String, by: String, queue: String) async throws -> Bool {
        try await requireProtocol(isWriting: false)
        var arguments = arguments(queue)
        arguments.append(worker)
        switch command {
        case .slots(let count):
            arguments.append("slots")
            arguments.append(count)
        case .quiet, .resume, .stop:
            arguments.append("course")
            arguments.append(command.course.rawValue)
        }
        arguments.append(by.oneWord)
        return try await evaluate(scripts[.controlWorker], arguments).int == 1
    }
}

extension WorkerCommand {
    fileprivate var course: WorkerSettings.Course {
        switch self {
        case .quiet: .quiet
        case .stop: .stop
        case .resume, .slots: .running
        }
    }
}

extension WorkerSettings {
    /// Reads two fields of a worker's hash, each "value, when, by" or empty.
    init(course: RedisValue, slots: RedisValue) {
        self.init(
            course: Setting(course) { Course(rawValue: $0) },
            slots: Setting(slots) { Int($0) }
        )
    }
}

extension WorkerSettings.Setting {
    fileprivate init?(_ stored: RedisValue, _ value: (String) -> Value?) {
        let words = (stored.string ?? "").split(separator: " ").map(String.init)
        guard words.count == 3, let value = value(words[0]), let at = Int64(words[1]) else { return nil }
        self.init(value, at: at, by: words[2])
    }
}
