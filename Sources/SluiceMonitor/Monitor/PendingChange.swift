import Operations
import Synchronization

/// A confirmed change that waits for an answer of Redis. Until the change is sent, Esc withdraws it.
package struct PendingChange: Sendable, Equatable {
    /// `pause queue mail`
    package let text: String

    package init(_ text: String) { self.text = text }

    package var waiting: Notice { Notice("\(text): waits for Redis · Esc withdraws it", .warning) }
    package var withdrawn: Notice { Notice("withdrawn: \(text); nothing was changed") }
    /// The notice after an Esc that came too late.
    package var sent: Notice { Notice("\(text) is sent already, and waits for its answer", .warning) }

    /// - Parameter error: the reason why Redis did not answer in time.
    package func dropped(_ error: any Error) -> Notice {
        Notice("dropped: \(text); nothing was changed, and nothing will be: \(error)", .dead)
    }
}

/// Decides once whether a change is sent or withdrawn.
final class ChangeGate: Sendable {
    private enum State { case waiting, sent, withdrawn }

    private let state = Mutex(State.waiting)

    /// - Returns: false if the change was withdrawn or sent before.
    func send() -> Bool { decide(.sent) }

    /// - Returns: false if the change was sent or withdrawn before.
    func withdraw() -> Bool { decide(.withdrawn) }

    private func decide(_ new: State) -> Bool {
        state.withLock { state in
            guard state == .waiting else { return false }
            state = new
            return true
        }
    }
}

extension MonitorModel {
    /// Notes that a change waits for Redis.
    package mutating func begin(_ change: PendingChange) { pending = change }

    /// Ends the pending change and shows the outcome.
    package mutating func end(_ outcome: Notice) {
        pending = nil
        notice = outcome
    }

    /// Handles Esc for a pending change.
    ///
    /// - Parameter isWithdrawn: false = the change was already sent.
    package mutating func withdraw(_ isWithdrawn: Bool) {
        guard let change = pending else { return }
        if isWithdrawn { end(change.withdrawn) } else { notice = change.sent }
    }
}
