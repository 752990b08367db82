/// A change of a queue.
enum QueueAction: String, Sendable, CaseIterable {
    case pause, resume

    var title: String { self == .pause ? "Pause" : "Resume" }

    var effect: String {
        switch self {
        case .pause: "No operation of the queue starts until someone resumes it. Running operations continue."
        case .resume: "Operations of the queue start again."
        }
    }

    var notice: OutcomeNotice { self == .pause ? .paused : .resumed }
}
