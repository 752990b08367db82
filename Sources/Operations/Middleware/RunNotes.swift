import Synchronization

/// The facts about a run that a worker tells its middleware besides the context.
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
    /// nil after the end.
    private let listeners = Mutex<[@Sendable (End) -> Void]?>([])

    package init(waited: Duration?) { self.waited = waited }

    /// Calls a closure once, when it is decided how the run ends.
    package func whenEnded(_ listener: @escaping @Sendable (End) -> Void) {
        listeners.withLock { $0?.append(listener) }
    }

    /// Notes the end; only the first one counts.
    package func ended(_ end: End) {
        let all = listeners.withLock { listeners in
            defer { listeners = nil }
            return listeners ?? []
        }
        for listener in all { listener(end) }
    }
}
