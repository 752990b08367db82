/// The result of a change, shown on the page to which the browser is sent afterwards.
///
/// The link has only a code, so that a link from elsewhere cannot show a text of its own.
enum OutcomeNotice: String, CaseIterable {
    case cancelled, requested, retried, held, released, removed, paused, resumed, limited
    case edited, rerun, enqueued
    case scheduleRan, scheduleJoined, schedulesPaused, schedulesResumed, schedulesRemoved, workerAsked, hostAsked

    var text: String {
        switch self {
        case .cancelled: "Cancelled."
        case .requested: "The cancel is requested. The operation ends when its worker, or its last member, has stopped."
        case .retried: "The operation is ready, with fresh attempts if it had ended."
        case .held: "The operation is held until it is released."
        case .released: "The operation is released."
        case .removed: "The operation is removed."
        case .paused: "The queue is paused. Running operations continue."
        case .limited: "The limits are set. They hold for the next starts."
        case .edited: "The operation is changed."
        case .rerun: "This new operation is enqueued. The old one stays as it is."
        case .enqueued: "The operation is enqueued."
        case .resumed: "The queue is resumed."
        case .scheduleRan: "The schedule has enqueued an operation."
        case .scheduleJoined: "An operation of the schedule is in flight already, so nothing was enqueued."
        case .schedulesPaused: "Paused. Nothing is enqueued until it is resumed."
        case .schedulesResumed: "Resumed, from the next instant on."
        case .workerAsked: "The request is stored. The worker obeys with its next heartbeat."
        case .hostAsked: "The requests are stored. Each worker obeys with its next heartbeat."
        case .schedulesRemoved: "Removed. Operations already enqueued stay."
        }
    }

    static func markup(_ visit: Visit) -> Markup? {
        guard let outcome = visit.query["outcome"].flatMap(OutcomeNotice.init) else { return nil }
        return Notice.markup(.good, outcome.text)
    }
}
