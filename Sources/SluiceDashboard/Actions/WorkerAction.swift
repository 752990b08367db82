import Operations
import SluiceOperator

/// A request to a worker.
enum WorkerAction: String, Sendable, CaseIterable {
    case quiet, resume, slots, stop

    var title: String { rawValue.prefix(1).uppercased() + rawValue.dropFirst() }

    var permission: Permission {
        switch self {
        case .quiet, .resume: .quietWorker
        case .slots, .stop: .changeWorker
        }
    }

    var isFinal: Bool { self == .stop }

    /// The effect in a sentence.
    var effect: String {
        switch self {
        case .quiet:
            "The worker claims nothing more, until someone resumes it or its process ends. What runs continues."
        case .resume: "The worker claims again."
        case .slots:
            "With fewer slots, running operations continue, and new ones start only when enough have ended. A restarted "
                + "worker has its own slots again."
        case .stop:
            "The worker claims nothing more, lets running operations end within its drain timeout, gives back the rest, "
                + "and ends."
        }
    }

    /// Whether the request does something now. A lost worker can only be asked to stop, in case it comes back.
    func isPossible(_ worker: WorkerSummary) -> Bool {
        if worker.isLost, self != .stop { return false }
        let course = worker.settings.course?.value
        let isStopping = worker.phase == "draining" || course == .stop
        switch self {
        case .quiet: return !isStopping && course != .quiet
        case .resume: return !isStopping && (course == .quiet || worker.phase == "quiet")
        case .slots: return !isStopping
        case .stop: return !isStopping
        }
    }

    /// - Parameter slots: the typed number of slots.
    /// - Throws: `PageFailure` if the number is no possible one.
    func command(slots: String?) throws(PageFailure) -> WorkerCommand {
        switch self {
        case .quiet: return .quiet
        case .resume: return .resume
        case .stop: return .stop
        case .slots:
            guard let slots, let count = Int(slots), (1...10_000).contains(count) else {
                throw .badRequest(
                    "slots is \(slots ?? "empty"): use 1 to 10000. To claim nothing, make the worker quiet."
                )
            }
            return .slots(count)
        }
    }
}
