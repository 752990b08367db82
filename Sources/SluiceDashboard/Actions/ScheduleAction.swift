import Sluice
import SluiceOperator

/// A change of schedules.
enum ScheduleAction: String, Sendable, CaseIterable {
    case run, pause, resume, remove

    var title: String { self == .run ? "Run now" : rawValue.prefix(1).uppercased() + rawValue.dropFirst() }

    var permission: Permission {
        switch self {
        case .run: .runSchedule
        case .pause, .resume: .pause
        case .remove: .remove
        }
    }

    /// The verb of the command line.
    var verb: String { self == .remove ? "rm" : rawValue }

    var isFinal: Bool { self == .remove }

    /// The effect in a sentence.
    var effect: String {
        switch self {
        case .run: "The operation is enqueued once more, now. The instants of the schedule stay as they are."
        case .pause: "Nothing is enqueued until someone resumes it. Operations already enqueued continue."
        case .resume: "Operations are enqueued again, from the next instant on. Instants that have passed stay out."
        case .remove: "Nothing is enqueued any more. Operations already enqueued stay. This cannot be undone."
        }
    }

    /// Whether the change does something in this state.
    func isPossible(_ state: OperationSchedule.State) -> Bool {
        switch self {
        case .run, .remove: true
        case .pause: state != .paused
        case .resume: state == .paused
        }
    }

    var notice: OutcomeNotice {
        switch self {
        case .run: .scheduleRan
        case .pause: .schedulesPaused
        case .resume: .schedulesResumed
        case .remove: .schedulesRemoved
        }
    }

    /// Changes one schedule.
    ///
    /// - Returns: the operation that was enqueued, or the one in flight instead; nil for other changes.
    func apply(to name: ScheduleName, _ control: ScheduleControl) async throws -> OperationReference? {
        switch self {
        case .run: return try await control.runNow(name.id, queue: name.queue)
        case .pause: try await control.pause(name.id, queue: name.queue)
        case .resume: try await control.resume(name.id, queue: name.queue)
        case .remove: try await control.remove(name.id, queue: name.queue)
        }
        return nil
    }
}

/// The queue and the id of a schedule, as one field of a form: `reports/nightly`.
struct ScheduleName: Sendable, Hashable {
    var queue: String
    var id: String

    init(_ schedule: OperationSchedule) { (queue, id) = (schedule.queue, schedule.id) }

    /// - Returns: nil if the text is no name of a schedule. Neither part can have a slash.
    init?(text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, parts.allSatisfy(NameRule.allows) else { return nil }
        (queue, id) = (parts[0], parts[1])
    }

    var text: String { "\(queue)/\(id)" }
}
