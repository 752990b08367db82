import Operations
import RedisBroker
import TestSupport

extension RedisBroker {
    /// The log of a worker that stopped before Redis answered it.
    private static let notStored = "the worker stopped before Redis stored the end of this operation"
    /// A worker ends this long after its second signal, whatever it waits for.
    private static let longestStop: Duration = .milliseconds(1_900)

    /// Recovers what a stopped worker could not give back in time, as a supervisor does.
    ///
    /// A stopping worker waits a few seconds for the answers of Redis, and one second after a second signal. On a busy
    /// machine that may be too short. Its operations then stay executing until another worker recovers them, and a test
    /// without another worker would wait forever. Does nothing unless the log says so, or the worker took so long that
    /// its deadline may have ended it.
    /// - Parameters:
    ///   - worker: a worker that has ended.
    ///   - second: the time of the second signal; nil = there was none.
    /// - Returns: the right deliveries of what was given back: the first one, or also the second one after a recovery.
    @discardableResult
    func recoverRest(
        of worker: Program,
        since second: ContinuousClock.Instant? = nil
    ) async throws -> ClosedRange<Int> {
        let mayBeCutShort = second.map { ContinuousClock.now - $0 >= Self.longestStop } ?? false
        guard mayBeCutShort || worker.errors.contains(Self.notStored) else { return 1...1 }
        print("a worker may have stopped before Redis answered: what is left is recovered")
        for queue in try await queues() {
            let executing = try await snapshot(queue: queue, executingRows: 200).executing
            for owner in Set(executing.map(\.worker)) {
                while try await recoverWorker(worker: WorkerID(owner), queue: queue).more {}
            }
        }
        return 1...2
    }
}
