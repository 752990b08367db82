import Synchronization

/// The facts about a run that a worker reports to its middleware in addition to the context.
package final class RunNotes: Sendable {
    /// How a run ended.
    package struct End: Sendable {
        /// `finished`, `dead`, `cancelled`, `retrying` (another attempt follows), `snoozed`, `yielded` or `returned`
        /// (another worker runs it).
        package let state: String
        /// The error that the body has thrown.
        package let error: (any Error)?

        package init(state: String, error: (any Error)?) { (self.state, self.error) = (state, error) }
    }

    /// The time from the moment at which the operation was ready; nil while the worker does not know the server's time.
    package let waited: Duration?
    private enum State {
        case running([@Sendable (End) -> Void])
        case ended(End)
    }

    private let state = Mutex(State.running([]))

    package init(waited: Duration?) { self.waited = waited }

    /// Calls a closure once, when it is decided how the run ends; at once if it was decided before.
    package func whenEnded(_ listener: @escaping @Sendable (End) -> Void) {
        let end: End? = state.withLock { state in
            switch state {
            case .running(let listeners):
                state = .running(listeners + [listener])
                return nil
            case .ended(let end): return end
            }
        }
        if let end { listener(end) }
    }

    /// Notes the end; only the first one counts.
    package func ended(_ end: End) {
        let listeners: [@Sendable (End) -> Void] = state.withLock { state in
            guard case .running(let listeners) = state else { return [] }
            state = .ended(end)
            return listeners
        }
        for listener in listeners { listener(end) }
    }
}
