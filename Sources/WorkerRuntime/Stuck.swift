import Foundation
import Logging
import Operations

/// The worker's reaction to an operation that does not end within the grace after a cancel or its run timeout. The
/// operation itself ends as cancelled, or as dead with the error `stuck`; Redis refuses the later writes of its body.
public enum StuckPolicy: String, Sendable, CaseIterable {
    /// The slot becomes free. The body runs until it returns or the process ends.
    case free
    /// The worker drains, so that a new process takes over: see the worker's `needsReplacement`. The process exits with
    /// status 75 if the drain cannot end: stuck bodies hold every thread, or other operations do not end.
    case replace
}

/// The error of an attempt that did not end when asked to.
struct StuckFailure: OperationFailing, CustomStringConvertible {
    let grace: Duration
    var failureType: String { "stuck" }
    var isRetryable: Bool { false }
    var description: String {
        "stuck: the body did not end within \(grace.formatted(.units(allowed: [.minutes, .seconds, .milliseconds]))) "
            + "of the request; it may still run, so the operation is not retried"
    }
}

extension WorkerCore {
    /// How long tasks may wait for a thread before a process that has to end counts as blocked.
    private static let patience: Duration = .seconds(2)
    /// The exit status of a replaced process: EX_TEMPFAIL.
    static let replacedStatus: Int32 = 75

    /// Acts on a deadline that has passed. Called on the thread of the deadline watch.
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
            // A forced cancel has given the operation up, and its body still runs.
            let goesOn = operation.cancellation?.isForced == true && operation.hasSlot
            if goesOn, configuration.stuck == .replace { replace() }
            return
        }
        logger.warning(
            "stuck: the operation did not end within the grace after its cancel; its slot is free, its body continues",
            metadata: operation.metadata(["grace": "\(configuration.cancelGrace)", "policy": "\(configuration.stuck)"])
        )
        counters.stuck.wrappingAdd(1, ordering: .relaxed)
        counters.count(settlement)
        statistics.ended(operation.queue, run, settlement)
        _ = end(
            operation,
            settlement,
            reportsAreBusy: reportsAreBusy,
            startedAt: run?.startedAt ?? .now,
            taskMayRunUntil: nil
        )
        beatNow.request()  // the heartbeat reports the stuck body
        if configuration.stuck == .replace { replace() }
    }

    private func settlement(of operation: HeldOperation, _ failure: StuckFailure) -> Settlement {
        let (cancellation, stop) = operation.endRequests
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

    /// Notes that a body that was given up on has returned.
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
        // Logged first: a worker that holds nothing else may have drained, and its process ended, before a later line
        // is written.
        logger.error("replacing this process: an operation is stuck")
        guard stopping.replace() else { return }
        let deadline = drainDeadline
        exit { [self] in Instant.now >= deadline || pool.blockedFor() >= Self.patience }
    }

    /// Ends a stopping process after its drain deadline even if bodies that never yield hold every thread. Then nothing
    /// else could end it.
    func endIfBlocked() {
        let deadline = drainDeadline
        exit { [self] in pool.blockedFor() >= Self.patience && Instant.now >= deadline }
    }

    private var drainDeadline: Instant {
        Instant.now + configuration.drainTimeout + configuration.cancelGrace + Self.patience
    }

    /// Exits as soon as the condition holds, unless the worker has ended by then. Uses a thread of its own, because all
    /// others may be blocked.
    private func exit(once condition: @escaping @Sendable () -> Bool) {
        let thread = Thread { [self] in
            while !deadlines.hasStopped, !condition() { Thread.sleep(forTimeInterval: 0.1) }
            guard !deadlines.hasStopped else { return }
            logger.error(
                "the drain cannot end: exiting with status \(Self.replacedStatus); workers recover the operations"
            )
            exitNow(Self.replacedStatus)
        }
        thread.stackSize = 512 << 10
        thread.start()
    }
}
