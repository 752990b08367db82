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
            "A held operation is the next of its priority, or waits for its time. Another loses its dependencies."
        case .remove: "The operation is removed with its arguments, result, errors and log. This cannot be undone."
        }
    }

    /// The effect on an operation, by its state.
    func effect(on detail: OperationDetail) -> String {
        switch self {
        case .cancel where detail.isGroup:
            "The waiting members of the group end as cancelled at once, and running ones are asked to stop. The group "
                + "ends after the last of them."
        case .cancel where detail.state == .executing:
            "The operation runs: its worker is asked to stop it, and it ends as cancelled when it stops."
        case .cancel: "The operation waits: it ends as cancelled at once."
        case .retry where detail.state.isTerminal: "The operation starts again with fresh attempts."
        case .retry: "The operation waits for its time: it is ready at once."
        case .hold, .release, .remove: effect
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
