import Foundation
import Logging
import Operations

/// What becomes of a worker whose operation does not end within the grace after a cancel or its run timeout. The operation itself is
/// cancelled, or dead (error `stuck`), and what its body still writes is refused.
public enum StuckPolicy: String, Sendable, CaseIterable {
    /// Its slot is free again; its body goes on until it returns or the process ends.
    case free
    /// The worker drains, so that a fresh process takes over: see `needsReplacement` of the worker. If it cannot, because stuck bodies
    /// hold every thread, or because what else it runs does not end, the process exits with status 75.
    case replace
}

/// The attempt was told to end, and did not.
struct StuckFailure: OperationFailing, CustomStringConvertible {
    let grace: Duration
    var failureType: String { "stuck" }
    var isRetryable: Bool { false }
    var description: String {
        "stuck: it was requested to end and did not within \(grace.formatted(.units(allowed: [.minutes, .seconds, .milliseconds]))); "
            + "its body may still run, so there is no other attempt"
    }
}

extension WorkerCore {
    /// How long tasks may wait for a thread before a process that is to be replaced is taken for blocked.
    private static let patience: Duration = .seconds(2)
    /// The status of a process that ends so: EX_TEMPFAIL.
    static let replacedStatus: Int32 = 75

    /// A deadline has passed. On the watch's thread.
    func deadlinePassed(_ operation: HeldOperation, _ step: DeadlineWatch.Step) {
        switch step {
        case .runTimeout: operation.stop(.runTimeout)
        case .grace: giveUp(operation)
        }
    }

    private func giveUp(_ operation: HeldOperation) {
        let failure = StuckFailure(grace: configuration.cancelGrace)
        let settlement = settlement(of: operation, failure)
        guard let (reportsAreBusy, run) = operation.giveUp(settlement) else {
            // Given up on by a forced cancel, and its body goes on all the same.
            let goesOn = operation.cancellation?.isForced == true && operation.hasSlot
            if goesOn, configuration.stuck == .replace { replace() }
            return
        }
        logger.warning(
            "stuck: the operation did not end within the grace after its cancel; its slot is freed, its body goes on",
            metadata: operation.metadata(["grace": "\(configuration.cancelGrace)", "policy": "\(configuration.stuck)"])
        )
        counters.stuck.wrappingAdd(1, ordering: .relaxed)
        counters.count(settlement)
        figures.ended(operation.queue, run, settlement)
        _ = end(
            operation,
            settlement,
            reportsAreBusy: reportsAreBusy,
            startedAt: run?.startedAt ?? .now,
            taskMayRunUntil: nil
        )
        beatNow.request()  // which tells of it
        if configuration.stuck == .replace { replace() }
    }

    private func settlement(of operation: HeldOperation, _ failure: StuckFailure) -> Settlement {
        let (cancellation, stop) = operation.orders
        if cancellation == nil, stop != .runTimeout { return .returned(.front) }
        let error = OperationFailure(
            type: failure.failureType,
            message: "\(failure)",
            attempt: operation.claimed.attempt,
            delivery: operation.claimed.header.delivery,
            verdict: cancellation == nil ? .final : nil
        )
        return .failed(cancellation == nil ? .dead : .cancelled, error: error.encoded())
    }

    /// A body that was given up on has returned after all.
    func returned(_ operation: HeldOperation) {
        counters.stuck.wrappingSubtract(1, ordering: .relaxed)
        taskEnds()
        if fencedBodyReturned(operation) {
            return logger.info("a fenced body has returned", metadata: operation.metadata())
        }
        logger.info("a stuck body has returned; nothing of it is stored", metadata: operation.metadata())
    }

    // MARK: Replacing

    /// Stops the worker as the first SIGTERM does, and makes sure that the process ends.
    private func replace() {
        guard stopping.current == .none else { return }
        // Said before: a worker that holds nothing else may have drained, and its process ended, before another line is written.
        logger.error("replacing this process: an operation is stuck")
        guard stopping.replace() else { return }
        let deadline = drainDeadline
        exit { [self] in Instant.now >= deadline || pool.blockedFor() >= Self.patience }
    }

    /// Makes sure that a process which was told to stop ends although bodies that never yield hold every thread: once its drain
    /// should be over, nothing else can end it.
    func endIfBlocked() {
        let deadline = drainDeadline
        exit { [self] in pool.blockedFor() >= Self.patience && Instant.now >= deadline }
    }

    private var drainDeadline: Instant {
        Instant.now + configuration.drainTimeout + configuration.cancelGrace + Self.patience
    }

    /// Exits as soon as the condition holds, unless the worker has ended by then. On a thread of its own: there may be no other.
    private func exit(once condition: @escaping @Sendable () -> Bool) {
        let thread = Thread { [self] in
            while !deadlines.hasStopped, !condition() { Thread.sleep(forTimeInterval: 0.1) }
            guard !deadlines.hasStopped else { return }
            logger.error("this process cannot end in order: it exits, and what it holds is handed back")
            exitNow(Self.replacedStatus)
        }
        thread.stackSize = 512 << 10
        thread.start()
    }
}
