import Foundation
import Testing

@testable import Operations

@Suite("Retries and time limits of local operations", .timeLimit(.minutes(60)))
struct RetryTests {
    @Test("A retry waits for its pause without a slot; its dependents stay blocked")
    func retry() async throws {
        let (clock, journal) = (TestClock(), Journal())
        let queue = LocalOperationQueue(maxConcurrentOperationCount: 1, clock: clock)
        let options = LocalOperationOptions(
            retry: LocalRetry { _, attempt in attempt < 3 ? .retry(after: .seconds(attempt)) : .dead }
        )
        let flaky = queue.add(options) {
            journal.note("try \(LocalOperation.current?.attempts ?? 0)")
            if LocalOperation.current?.attempts != 3 { throw Oops() }
            return "good"
        }
        let dependent = ValueOperation { journal.note("dependent") }
        try dependent.addDependency(flaky)
        try queue.add(dependent)
        let other = queue.add { journal.note("other") }
        try await other.value
        await clock.journal.wait(count: 1)
        #expect(flaky.state == .retrying)
        #expect(dependent.state == .blocked)
        clock.advance(by: .seconds(1))
        await clock.journal.wait(count: 2)
        clock.advance(by: .seconds(2))
        #expect(try await flaky.value == "good")
        try await dependent.value
        #expect(journal.entries.filter { $0 != "other" } == ["try 1", "try 2", "try 3", "dependent"])
        #expect(flaky.attempts == 3)
    }

    @Test("A body that snoozes runs again after the pause in the same attempt, also without retries")
    func snooze() async throws {
        let (clock, journal) = (TestClock(), Journal())
        let queue = LocalOperationQueue(maxConcurrentOperationCount: 1, clock: clock)
        let patient = queue.add {
            journal.note("run in attempt \(LocalOperation.current?.attempts ?? 0)")
            if journal.entries.count < 3 { throw Snooze(for: .seconds(30)) }
            return "good"
        }
        for count in 1...2 {
            await clock.journal.wait(count: count)
            #expect(patient.state == .retrying)
            clock.advance(by: .seconds(30))
        }
        #expect(try await patient.value == "good")
        #expect(journal.entries == Array(repeating: "run in attempt 1", count: 3))
        #expect(patient.attempts == 1)
    }

    @Test("A retrying operation ends at once when it is cancelled")
    func cancelRetrying() async throws {
        let clock = TestClock()
        let queue = LocalOperationQueue(clock: clock)
        let flaky = queue.add(LocalOperationOptions(retry: LocalRetry { _, _ in .retry(after: .seconds(60)) })) {
            throw Oops()
        }
        await clock.journal.wait(count: 1)
        #expect(flaky.state == .retrying)
        flaky.cancel()
        #expect(flaky.state == .cancelled)
        #expect(queue.operationCount == 0)
    }

    @Test("A retry decision may discard, and an error may end or delay retries but never shorten a pause")
    func decisions() async throws {
        struct Hopeless: OperationFailing {
            var failureType: String { "hopeless" }
            var isRetryable: Bool { false }
        }
        struct Busy: RetryTiming { var retryAfter: Duration? { .seconds(17) } }
        let queue = LocalOperationQueue()
        let discarded = queue.add(LocalOperationOptions(retry: LocalRetry { _, _ in .discard })) { throw Oops() }
        #expect(try await discarded.waitUntilFinished() == .cancelled)
        let policy = LocalRetry(RetryPolicy(attempts: 3, base: .seconds(1)))
        #expect(policy(Hopeless(), attempt: 1) == .dead)
        #expect(policy(Busy(), attempt: 1) == .retry(after: .seconds(17)))
        #expect(policy(Busy(), attempt: 3) == .dead)
        struct Eager: RetryTiming { var retryAfter: Duration? }
        for wish in [Duration.zero, .seconds(-60), .milliseconds(999)] {
            guard case .retry(let pause) = policy(Eager(retryAfter: wish), attempt: 2) else { throw Oops() }
            #expect(pause >= .seconds(2), "a wish of \(wish) does not shorten the policy's pause")
        }
        #expect(policy(Oops(), attempt: 3) == .dead)
        guard case .retry(let pause) = policy(Oops(), attempt: 2) else { throw Oops() }
        #expect(pause >= .seconds(2) && pause <= .seconds(3))
    }

    @Test("An operation that reaches its run timeout is cancelled and ends as dead with the reason")
    func timeLimit() async throws {
        let (clock, journal) = (TestClock(), Journal())
        let queue = LocalOperationQueue(clock: clock)
        let operation = queue.add(LocalOperationOptions(runTimeout: .seconds(5))) {
            await untilCancelled(journal)
            try Task.checkCancellation()
        }
        await journal.wait(for: "in")
        await clock.journal.wait(count: 1)
        clock.advance(by: .seconds(5))
        let error = await #expect(throws: OperationsError.self) { try await operation.value }
        #expect(error?.code == .timedOut)
        #expect(operation.state == .dead)
    }

    @Test("An operation that does not end after its run timeout is given up, and its slot is free")
    func givenUp() async throws {
        let (clock, journal, gate, released) = (TestClock(), Journal(), Gate(), Gate())
        let queue = LocalOperationQueue(maxConcurrentOperationCount: 1, clock: clock)
        do {
            let held = Released { released.open() }
            let stuck = queue.add(LocalOperationOptions(runTimeout: .seconds(5), grace: .seconds(2))) {
                journal.note("in")
                await gate.wait()
                withExtendedLifetime(held) {}
            }
            let next = queue.add { "next" }
            await journal.wait(for: "in")
            await clock.journal.wait(count: 1)
            clock.advance(by: .seconds(5))
            await clock.journal.wait(count: 2)
            #expect(stuck.state == .executing)
            clock.advance(by: .seconds(2))
            #expect(try await stuck.waitUntilFinished() == .dead)
            #expect(try await next.value == "next")
            try await queue.waitUntilAllOperationsAreFinished()
            #expect(queue.executingCount == 0)
        }
        // The late return of the body changes nothing and releases what the body held.
        gate.open()
        await released.wait()
        #expect(queue.executingCount == 0)
        #expect(try await queue.add { 1 }.value == 1)
    }

    @Test("An operation that was given up is stuck until its body returns; observers see `stuck` before the end")
    func stuck() async throws {
        let (clock, journal, gate, released) = (TestClock(), Journal(), Gate(), Gate())
        let queue = LocalOperationQueue(clock: clock)
        let operation: LocalOperation
        do {
            let held = Released { released.open() }
            operation = queue.add(LocalOperationOptions(runTimeout: .seconds(5), grace: .seconds(2))) {
                journal.note("in")
                await gate.wait()
                withExtendedLifetime(held) {}
            }
        }
        await journal.wait(for: "in")
        await clock.journal.wait(count: 1)
        let changes = operation.changes
        clock.advance(by: .seconds(5))
        await clock.journal.wait(count: 2)
        #expect(!operation.isStuck)
        clock.advance(by: .seconds(2))
        var kinds: [LocalOperationChange.Kind] = []
        for await change in changes { kinds.append(change.kind) }
        #expect(kinds == [.state(.executing), .stuck, .state(.dead)])
        #expect(operation.isStuck)
        gate.open()
        await released.wait()
        #expect(!operation.isStuck && operation.state == .dead)
    }
}

/// Notes "in", then waits until its task is cancelled.
func untilCancelled(_ journal: Journal) async {
    let gate = Gate()
    await withTaskCancellationHandler {
        journal.note("in")
        await gate.wait()
    } onCancel: {
        gate.open()
    }
}
