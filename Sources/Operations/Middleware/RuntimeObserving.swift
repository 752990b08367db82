/// Middleware that also counts what happens to a worker itself. A worker calls it seldom: never for each operation.
package protocol RuntimeObserving: Sendable {
    /// Notes that a worker has lost an operation whose body runs. Another worker may run the operation now.
    func lostLease(queue: String)
    /// Notes that Redis answers the heartbeats of a queue again after one had failed.
    func reconnected(queue: String)
    /// Notes how long ends of operations have waited for Redis, once per heartbeat; zero = none waits.
    func outboxWaits(_ time: Duration, queue: String)
}

extension MiddlewareChain {
    /// The middleware that counts what happens to a worker.
    package var observers: [any RuntimeObserving] { all.compactMap { $0 as? any RuntimeObserving } }
}
