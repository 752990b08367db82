import Foundation
import Testing

@testable import Operations

/// A cancel takes effect before the call returns: the task of the body is cancelled, or the pause is over.
@Suite("Cancels of local operations take effect at once", .timeLimit(.minutes(60)))
struct CancelTests {
    @Test("A body that cancels its own operation runs in a cancelled task from its first step on")
    func fromInside() async throws {
        let missed = Guarded(0)
        for _ in 0..<5000 {
            // A new queue each time: each body is then the first step of a new task.
            let queue = LocalOperationQueue()
            try await queue.add {
                LocalOperation.current?.cancel()
                if !Task.isCancelled { missed.withLock { $0 += 1 } }
            }.value
        }
        #expect(missed.withLock { $0 } == 0)
    }

    @Test(
        "A cancel also ends an operation run by start(), one with another quality of service, and a whole queue"
    )
    func fromInsideElsewhere() async throws {
        let missed = Guarded<[String: Int]>([:])
        @Sendable func check(_ what: String) {
            if !Task.isCancelled { missed.withLock { $0[what, default: 0] += 1 } }
        }
        for _ in 0..<2000 {
            let byHand = ValueOperation {
                LocalOperation.current?.cancel()
                check("by hand")
            }
            try await byHand.start()
            let queue = LocalOperationQueue(maxConcurrentOperationCount: 1)
            queue.isSuspended = true
            queue.add(LocalOperationOptions(qualityOfService: .utility)) {}
            queue.add(LocalOperationOptions(qualityOfService: .userInitiated)) {
                LocalOperationQueue.current?.cancelAllOperations()
                check("all")
            }
            queue.isSuspended = false
            try await queue.waitUntilAllOperationsAreFinished()
        }
        #expect(missed.withLock { $0 } == [:])
    }

    @Test("An operation stores the timer of a pause before the timer can fire")
    func timerIsKept() async throws {
        let missed = Guarded(0)
        let current = Guarded<LocalOperation?>(nil)
        let clock = ImmediateClock {
            guard let operation = current.withLock({ $0 }) else { return }
            if operation.locked({ _ in operation.extras?.timer == nil }) { missed.withLock { $0 += 1 } }
        }
        let queue = LocalOperationQueue(clock: clock)
        let options = LocalOperationOptions(
            retry: LocalRetry { _, attempt in attempt < 4 ? .retry(after: .zero) : .dead }
        )
        for _ in 0..<3000 {
            let operation = queue.add(options) {
                current.withLock { $0 = LocalOperation.current }
                throw Oops()
            }
            #expect(try await operation.waitUntilFinished() == .dead)
            #expect(operation.attempts == 4)
        }
        #expect(missed.withLock { $0 } == 0)
    }

    @Test(
        "A cancel in a long pause after an empty one ends the operation and leaks nothing",
        arguments: [true, false]
    )
    func inTheSecondPause(inQueue: Bool) async throws {
        let options = LocalOperationOptions(
            retry: LocalRetry { _, attempt in .retry(after: attempt == 1 ? .zero : .seconds(3600)) }
        )
        let queue = LocalOperationQueue()
        for _ in 0..<300 {
            let released = Gate()
            do {
                let held = Released { released.open() }
                let operation = ValueOperation(options) {
                    withExtendedLifetime(held) {}
                    throw Oops()
                }
                let changes = operation.changes
                if inQueue { try queue.add(operation) } else { Task { try await operation.start() } }
                var pauses = 0
                for await change in changes where change.kind == .state(.retrying) {
                    pauses += 1
                    if pauses == 2 { break }
                }
                operation.cancel()
                #expect(operation.state == .cancelled)
                #expect(operation.locked { _ in operation.extras?.timer == nil })
            }
            await released.wait()
        }
        #expect(queue.operationCount == 0)
    }
}

/// A clock whose sleeps end at once. Each sleep calls `onSleep` first.
private struct ImmediateClock: Clock {
    let onSleep: @Sendable () -> Void
    var now: ContinuousClock.Instant { .now }
    var minimumResolution: Duration { .zero }
    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
        onSleep()
        try Task.checkCancellation()
    }
}
