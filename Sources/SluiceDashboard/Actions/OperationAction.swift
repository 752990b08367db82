import Operations
import SluiceOperator

/// A change of one operation.
enum OperationAction: String, Sendable, CaseIterable {
    // In the order of the buttons: those that cannot be taken back are last.
    case retry, release, hold, cancel, remove

    var kind: ChangeKind {
        switch self {
        case .cancel: .cancel
        case .retry: .retry
        case .hold: .hold
        case .release: .release
        case .remove: .remove
        }
    }

    var permission: Permission { kind.permission }

    var title: String { rawValue.prefix(1).uppercased() + rawValue.dropFirst() }

    /// Whether the action makes an operation start before its time.
    private func startsNow(_ detail: OperationDetail) -> Bool {
        self == .retry && [.scheduled, .retrying].contains(detail.state)
    }

    /// Whether the cancel is by force: the worker was already asked to stop.
    func isForced(on detail: OperationDetail) -> Bool {
        self == .cancel && detail.state == .executing && detail.cancel != nil
    }

    /// The label of the button at an operation.
    func title(on detail: OperationDetail) -> String {
        startsNow(detail) ? "Start now" : isForced(on: detail) ? "Cancel by force" : title
    }

    /// The label of the button that makes the change.
    func confirmation(on detail: OperationDetail) -> String {
        startsNow(detail) || isForced(on: detail) ? title(on: detail) : "\(title) operation"
    }

    func question(on detail: OperationDetail) -> String {
        startsNow(detail)
            ? "Start this operation now?"
            : "\(title) this operation\(isForced(on: detail) ? " by force" : "")?"
    }

    /// Whether the state of an operation allows the change.
    func isAllowed(on detail: OperationDetail) -> Bool {
        kind.allowed.contains(detail.state) && !(self == .release && detail.refusesRelease)
    }

    /// Whether Redis stores a reason with the operation.
    var takesReason: Bool { self == .cancel || self == .hold }

    /// Whether the change cannot be taken back.
    var isFinal: Bool { self == .cancel || self == .remove }

    /// Whether the change is the usual next step of an operation in a state.
    func isUsual(in state: OperationState) -> Bool { self == .retry && state == .dead }

    func buttonClass(in state: OperationState) -> String {
        isFinal ? "button danger" : isUsual(in: state) ? "button main" : "button"
    }

    /// The effect in a sentence.
    var effect: String {
        switch self {
        case .cancel: "A waiting operation ends as cancelled at once. A running one is asked to stop."
        case .retry: "An ended operation starts again with fresh attempts. A retrying or scheduled one starts at once."
        case .hold: "The operation waits until someone releases it. An expiry still counts."
        case .release:
            "A held operation becomes the next of its priority, or waits for its time. Another one no longer waits for "
                + "its dependencies, and can start before they have ended."
        case .remove: "The operation is removed with its arguments, result, errors and log. This cannot be undone."
        }
    }

    /// The effect on an operation, by its state.
    func effect(on detail: OperationDetail) -> String {
        switch self {
        case .cancel where detail.isGroup:
            "The waiting members of the group end as cancelled at once, and running ones are asked to stop. The group "
                + "ends after the last of them."
        case .cancel where isForced(on: detail):
            "Its worker was asked to stop it. By force, it ends as cancelled at once, even if the worker is frozen, and what "
                + "it still writes is refused. A program gets SIGKILL; other code goes on until it stops by itself."
        case .cancel where detail.state == .executing:
            "The operation runs: its worker is asked to stop it, and it ends as cancelled when it stops."
        case .cancel: "The operation waits: it ends as cancelled at once."
        case .retry where detail.state.isTerminal: "The operation starts again with fresh attempts."
        case .retry: "The operation waits for its time: it is ready at once."
        case .release where detail.hold != nil:
            "The operation is held. Once released, it is the next of its priority, or waits for its time."
        case .release:
            "The operation no longer waits for its dependencies, and can start before they have ended."
        case .hold, .remove: effect
        }
    }

    /// The consequence for the operations that depend on the one; nil = none.
    func consequence(for dependents: Dependents) -> String? {
        guard let subject = dependents.subject else { return nil }
        return switch self {
        case .cancel: "\(subject). Dependents are cancelled too, unless their policies say otherwise."
        case .remove: "\(subject). For dependents, this is the same as a cancel."
        case .hold: "\(subject). Dependents wait longer."
        case .retry, .release: nil
        }
    }

    /// The effect on operations of a state, in few words.
    func effect(in state: OperationState) -> String {
        switch self {
        case .cancel: state == .executing ? "asked to stop" : "cancelled at once"
        case .retry: state.isTerminal ? "started again with fresh attempts" : "ready at once"
        case .hold, .release, .remove: kind.participle
        }
    }

    /// The notice after the change.
    func notice(_ outcome: OperationOutcome) -> OutcomeNotice {
        switch self {
        // The worker, or the members of a group, still have to stop.
        case .cancel: outcome.name == "requested" ? .requested : .cancelled
        case .retry: .retried
        case .hold: .held
        case .release: .released
        case .remove: .removed
        }
    }
}
