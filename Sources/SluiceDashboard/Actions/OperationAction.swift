import Operations
import SluiceOperator

/// A change of one operation.
enum OperationAction: String, Sendable, CaseIterable {
    case cancel, retry, hold, release, remove

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
