import Foundation
import Testing

@testable import Operations

struct Oops: Error, Equatable {
    var number = 0
}

@Suite("Local operations", .timeLimit(.minutes(1)))
struct LocalOperationTests {
    // MARK: States

    @Test("Only the moves of the table are allowed, and terminal states have none")
    func lifecycle() {
        let table: [OperationState: Set<OperationState>] = [
            .blocked: [.ready, .cancelled],
            .ready: [.blocked, .executing, .cancelled],
            .executing: [.finished, .dead, .cancelled, .retrying],
            .retrying: [.ready, .cancelled],
        ]
        for old in OperationState.allCases {
            for new in OperationState.allCases {
                #expect(Lifecycle.allows(old, new) == (table[old]?.contains(new) ?? false), "\(old) to \(new)")
            }
        }
    }

    @Test("An illegal move ends a debug build")
    func illegalMove() async {
        await #expect(processExitsWith: .failure) {
            let operation = ValueOperation {}
            operation.cancel()
            operation.locked { $0.begin(operation) }
        }
    }

    @Test("The value is what the body returned; the error is what it threw")
    func values() async throws {
        let queue = LocalOperationQueue()
        let (good, bad) = (queue.add { 42 }, queue.add { () throws -> Int in throw Oops(number: 7) })
        #expect(try await good.value == 42)
        await #expect(throws: Oops(number: 7)) { try await bad.value }
        #expect(bad.state == .dead)
        #expect(good.attempts == 1)
        #expect(try good.result?.get() == 42)
    }

    @Test("A cancelled operation has no value, and says why")
    func cancelledValue() async {
        let operation = ValueOperation { 1 }
        #expect(operation.result == nil)
        #expect(operation.cancel(reason: "not wanted"))
        #expect(!operation.cancel(reason: "again"))
        let error = await #expect(throws: OperationsError.self) { try await operation.value }
        #expect(error?.code == .cancelled)
        #expect(error?.message.contains("not wanted") == true)
        #expect(operation.cancelReason == "not wanted")
    }

    @Test("What the body throws after a cancel ends it as cancelled; what it returns counts")
    func cancelWhileExecuting() async throws {
        let (queue, journal, gate) = (LocalOperationQueue(), Journal(), Gate())
        let throwing = queue.add {
            journal.note("throwing")
            await gate.wait()
            try Task.checkCancellation()
        }
        let returning = queue.add {
            journal.note("returning")
            await gate.wait()
            return Task.isCancelled
        }
        await journal.wait(count: 2)
        for operation in [throwing, returning] as [LocalOperation] { operation.cancel() }
        gate.open()
        #expect(try await throwing.waitUntilFinished() == .cancelled)
        #expect(try await returning.value)
        #expect(returning.state == .finished && returning.isCancelled)
    }

    @Test("A body may cancel its own operation")
    func cancelFromInside() async throws {
        let queue = LocalOperationQueue()
        let operation = queue.add {
            LocalOperation.current?.cancel(reason: "inside")
            try Task.checkCancellation()
        }
        #expect(try await operation.waitUntilFinished() == .cancelled)
        #expect(operation.cancelReason == "inside")
    }

    @Test("A runner whose operation was cancelled does not hand the cancel on to the next operation")
    func cancelIsNotInherited() async throws {
        let (queue, journal, gate) = (LocalOperationQueue(maxConcurrentOperationCount: 1), Journal(), Gate())
        let first = queue.add {
            journal.note("first")
            await gate.wait()
        }
        let second = queue.add { Task.isCancelled }
        await journal.wait(for: "first")
        first.cancel()
        gate.open()
        #expect(try await second.value == false)
    }

    @Test("Adding twice, or what was started, is refused")
    func addingTwice() async throws {
        let (queue, other) = (LocalOperationQueue(), LocalOperationQueue())
        queue.isSuspended = true
        let added = ValueOperation {}
        try queue.add(added)
        #expect(throws: OperationsError.self) { try queue.add(added) }
        #expect(throws: OperationsError.self) { try other.add(added) }
        await #expect(throws: OperationsError.self) { try await added.start() }
        let started = ValueOperation {}
        try await started.start()
        #expect(throws: OperationsError.self) { try queue.add(started) }
        #expect(queue.operationCount == 1)
    }

    @Test("Cancelling the task that started an operation by hand cancels the operation")
    func startCancelled() async throws {
        let (journal, gate) = (Journal(), Gate())
        let operation = ValueOperation {
            journal.note("in")
            await gate.wait()
            try Task.checkCancellation()
        }
        let task = Task { try await operation.start() }
        await journal.wait(for: "in")
        task.cancel()
        gate.open()
        #expect(try await task.value == .cancelled)
    }

    // MARK: Limits

    @Test("A limit of 0 starts nothing until it is raised; unlimited starts all")
    func zeroAndUnlimited() async throws {
        let queue = LocalOperationQueue(maxConcurrentOperationCount: 0)
        let (journal, gate) = (Journal(), Gate())
        for number in 0..<100 {
            queue.add {
                journal.note("\(number)")
                await gate.wait()
            }
        }
        #expect(queue.executingCount == 0)
        queue.maxConcurrentOperationCount = LocalOperationQueue.unlimited
        await journal.wait(count: 100)
        #expect(queue.executingCount == 100)
        gate.open()
        try await queue.waitUntilAllOperationsAreFinished()
    }

    @Test("Task priority follows the quality of service, of the operation or else of the queue")
    func quality() async throws {
        let queue = LocalOperationQueue(maxConcurrentOperationCount: 1, qualityOfService: .utility)
        queue.isSuspended = true
        let plain = queue.add { Task.currentPriority }
        let urgent = queue.add(LocalOperationOptions(qualityOfService: .userInitiated)) { Task.currentPriority }
        let low = queue.add(LocalOperationOptions(qualityOfService: .background)) { Task.currentPriority }
        queue.isSuspended = false
        // Nobody waits here before the end, as waiting lends the waiter's priority.
        let journal = Journal()
        low.onEnd { _ in journal.note("end") }
        await journal.wait(for: "end")
        #expect(try await plain.value == .utility)
        #expect(try await urgent.value == .userInitiated)
        #expect(try await low.value == .background)
    }

    // MARK: Dependencies

    @Test("A failed dependency cancels its dependents, and theirs, unless their policy says otherwise")
    func failurePolicies() async throws {
        let queue = LocalOperationQueue()
        queue.isSuspended = true
        let failing = queue.add { throw Oops() }
        let dependents = try DependencyFailurePolicy.allCases.map { policy in
            let operation = ValueOperation {}
            try operation.addDependency(failing, onFailure: policy)
            try queue.add(operation)
            return (policy, operation)
        }
        let byPolicy = Dictionary(uniqueKeysWithValues: dependents)
        let (cancelled, held, run) = (
            try #require(byPolicy[.cancel]), try #require(byPolicy[.hold]), try #require(byPolicy[.run])
        )
        let grandchild = ValueOperation {}
        try grandchild.addDependency(cancelled)
        try queue.add(grandchild)
        queue.isSuspended = false
        #expect(try await run.waitUntilFinished() == .finished)
        #expect(try await cancelled.waitUntilFinished() == .cancelled)
        #expect(try await grandchild.waitUntilFinished() == .cancelled)
        #expect(cancelled.cancelReason == "a dependency ended as dead")
        #expect(held.state == .blocked)
        held.removeDependency(failing)
        #expect(try await held.waitUntilFinished() == .finished)
    }

    @Test("The policy of a held edge may be changed after the failure")
    func changedPolicy() async throws {
        let (failing, held) = (ValueOperation { throw Oops() }, ValueOperation {})
        try held.addDependency(failing, onFailure: .hold)
        try await failing.start()
        #expect(held.state == .blocked)
        try held.addDependency(failing, onFailure: .run)
        #expect(held.state == .ready)
    }

    @Test("A cycle over several operations and queues is refused, and the message names the path")
    func longCycle() throws {
        let names = ["a", "b", "c", "d"]
        let operations = names.map { ValueOperation(LocalOperationOptions(name: $0)) {} }
        let queues = [LocalOperationQueue(), LocalOperationQueue()]
        for queue in queues { queue.isSuspended = true }
        for (index, operation) in operations.enumerated() { try queues[index % 2].add(operation) }
        for (below, above) in zip(operations.dropFirst(), operations) { try below.addDependency(above) }
        let error = #expect(throws: OperationsError.self) { try operations[0].addDependency(operations[3]) }
        #expect(error?.message.contains("a → d → c → b → a") == true, "\(error?.message ?? "")")
        #expect(throws: OperationsError.self) { try operations[1].addDependency(operations[1]) }
        #expect(operations[0].isReady)
    }

    @Test("What something before a barrier waits for cannot be added behind the barrier")
    func cycleOverBarrier() throws {
        let queue = LocalOperationQueue()
        queue.isSuspended = true
        let (early, late) = (
            ValueOperation(LocalOperationOptions(name: "early")) {},
            ValueOperation(LocalOperationOptions(name: "late")) {}
        )
        try early.addDependency(late)
        try queue.add(early)
        queue.addBarrier {}
        let error = #expect(throws: OperationsError.self) { try queue.add(late) }
        #expect(error?.message.contains("barrier") == true)
        let other = queue.add {}
        #expect(throws: OperationsError.self) { try early.addDependency(other) }
    }

    @Test("A dependency on an operation that is released unrun counts as cancelled")
    func releasedDependency() throws {
        let (cancelled, runs) = (ValueOperation {}, ValueOperation {})
        do {
            let dropped = ValueOperation {}
            try cancelled.addDependency(dropped)
            try runs.addDependency(dropped, onFailure: .run)
        }
        #expect(cancelled.state == .cancelled)
        #expect(runs.state == .ready)
    }

    @Test("A chain of 100,000, to and fro between two queues, is cancelled without running out of stack")
    func longCascade() throws {
        let queues = [LocalOperationQueue(), LocalOperationQueue()]
        for queue in queues { queue.isSuspended = true }
        var operations: [ValueOperation<Void>] = []
        for number in 0..<100_000 {
            let operation = ValueOperation {}
            if let last = operations.last { try operation.addDependency(last) }
            try queues[number % 2].add(operation)
            operations.append(operation)
        }
        operations[0].cancel()
        #expect(operations.allSatisfy { $0.state == .cancelled })
        #expect(queues[0].operationCount == 0 && queues[1].operationCount == 0)
    }

    @Test("A chain of 100,000 that never ran is released, all of it, without running out of stack")
    func longRelease() async throws {
        let released = Gate()
        do {
            let held = Released { released.open() }
            var last: ValueOperation<Void>?
            for _ in 0..<100_000 {
                let operation = ValueOperation { withExtendedLifetime(held) {} }
                if let last { try last.addDependency(operation, onFailure: .run) }
                last = operation
            }
            #expect(last?.state == .ready)
        }
        await released.wait()
    }

    @Test("A dropped graph of operations keeps nothing alive", arguments: DependencyFailurePolicy.allCases)
    func droppedGraph(policy: DependencyFailurePolicy) async throws {
        let released = Gate()
        do {
            let held = Released { released.open() }
            let operations = (0..<10).map { _ in ValueOperation { withExtendedLifetime(held) {} } }
            for (index, operation) in operations.enumerated() {
                for dependency in operations[..<index] { try operation.addDependency(dependency, onFailure: policy) }
            }
            try await operations[0].start()
        }
        await released.wait()
    }

    // MARK: Retries and time limits

    @Test("A retry waits for its pause without a slot, and keeps its dependents waiting")
    func retry() async throws {
        let (clock, journal) = (TestClock(), Journal())
        let queue = LocalOperationQueue(maxConcurrentOperationCount: 1, clock: clock)
        let options = LocalOperationOptions(
            retry: LocalRetry { _, attempt in attempt < 3 ? .after(.seconds(attempt)) : .dead }
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

    @Test("A retrying operation ends at once when it is cancelled")
    func cancelRetrying() async throws {
        let clock = TestClock()
        let queue = LocalOperationQueue(clock: clock)
        let flaky = queue.add(LocalOperationOptions(retry: LocalRetry { _, _ in .after(.seconds(60)) })) {
            throw Oops()
        }
        await clock.journal.wait(count: 1)
        #expect(flaky.state == .retrying)
        flaky.cancel()
        #expect(flaky.state == .cancelled)
        #expect(queue.operationCount == 0)
    }

    @Test("A decision may discard, and errors may have their say")
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
        #expect(policy(Busy(), attempt: 1) == .after(.seconds(17)))
        #expect(policy(Busy(), attempt: 3) == .dead)
        #expect(policy(Oops(), attempt: 3) == .dead)
        guard case .after(let pause) = policy(Oops(), attempt: 2) else { throw Oops() }
        #expect(pause >= .seconds(2) && pause <= .seconds(3))
    }

    @Test("At its time limit an operation is told to end, and is dead with the reason")
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

    @Test("One that does not end after its limit is given up on, and its slot is free")
    func abandoned() async throws {
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
        // The body's late end changes nothing, and lets go of what it held.
        gate.open()
        await released.wait()
        #expect(queue.executingCount == 0)
        #expect(try await queue.add { 1 }.value == 1)
    }

    // MARK: Waiting, hooks and observing

    @Test("Cancelling who waits ends the waiting and not the operation")
    func cancelledWait() async throws {
        let (queue, gate) = (LocalOperationQueue(), Gate())
        let operation = queue.add {
            await gate.wait()
            return 1
        }
        let waits = [
            Task { _ = try await operation.value },
            Task { _ = try await operation.waitUntilFinished() },
            Task { try await queue.waitUntilAllOperationsAreFinished() },
        ]
        for wait in waits {
            wait.cancel()
            await #expect(throws: CancellationError.self) { try await wait.value }
        }
        gate.open()
        #expect(try await operation.value == 1)
    }

    @Test("Hooks run once, in order, before the waiters go on")
    func hooks() async throws {
        let (queue, journal) = (LocalOperationQueue(), Journal())
        let operation = ValueOperation { throw Oops(number: 1) }
        for number in 0..<5 { operation.onEnd { _ in journal.note("hook \(number)") } }
        operation.onDeath { error in journal.note("death \((error as? Oops)?.number ?? 0)") }
        try queue.add(operation)
        try await operation.waitUntilFinished()
        #expect(journal.entries == (0..<5).map { "hook \($0)" } + ["death 1"])
        operation.onEnd { ending in journal.note("late \(ending.state)") }
        #expect(journal.entries.last == "late dead")
    }

    @Test("A hook may use queue and operation as it likes")
    func reentrantHook() async throws {
        let (queue, journal) = (LocalOperationQueue(maxConcurrentOperationCount: 1), Journal())
        let operation = ValueOperation {}
        operation.onEnd { _ in
            queue.add { journal.note("added by a hook") }
            queue.maxConcurrentOperationCount = 2
            operation.cancel()
        }
        try queue.add(operation)
        await journal.wait(for: "added by a hook")
        try await queue.waitUntilAllOperationsAreFinished()
    }

    @Test("A stream of changes begins with the present state and ends after the terminal one")
    func changes() async throws {
        let (queue, journal, gate) = (LocalOperationQueue(), Journal(), Gate())
        let (first, operation) = (
            ValueOperation {},
            ValueOperation {
                LocalOperation.current?.report(progress: 0.5, "half")
                journal.note("in")
                await gate.wait()
                try Task.checkCancellation()
            }
        )
        try operation.addDependency(first)
        let changes = operation.changes
        try queue.add(first)
        try queue.add(operation)
        await journal.wait(for: "in")
        #expect(operation.progress == LocalOperationProgress(fraction: 0.5, message: "half"))
        operation.cancel(reason: "enough")
        gate.open()
        var kinds: [LocalOperationChange.Kind] = []
        for await change in changes { kinds.append(change.kind) }
        #expect(
            kinds == [
                .state(.blocked), .state(.ready), .state(.executing),
                .progress(LocalOperationProgress(fraction: 0.5, message: "half")), .cancelRequested(reason: "enough"),
                .state(.cancelled),
            ]
        )
        var late: [LocalOperationChange.Kind] = []
        for await change in operation.changes { late.append(change.kind) }
        #expect(late == [.state(.cancelled)])
    }

    @Test("The queue's stream has every change of every operation, none twice and none out of order")
    func queueChanges() async throws {
        let queue = LocalOperationQueue(maxConcurrentOperationCount: 8)
        let changes = queue.changes
        let count = 500
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<5 { group.addTask { for _ in 0..<(count / 5) { queue.add {} } } }
        }
        var states: [ObjectIdentifier: [OperationState]] = [:]
        var kept: [LocalOperation] = []
        var ended = 0
        for await change in changes {
            guard case .state(let state) = change.kind else { continue }
            kept.append(change.operation)
            states[ObjectIdentifier(change.operation), default: []].append(state)
            if state.isTerminal { ended += 1 }
            if ended == count { break }
        }
        #expect(states.count == count)
        #expect(states.values.allSatisfy { $0 == [.ready, .executing, .finished] })
    }

    @Test("A queue that is released while suspended cancels what nobody could resume")
    func releasedSuspended() async throws {
        let operation: ValueOperation<Void>
        do {
            let queue = LocalOperationQueue()
            queue.isSuspended = true
            operation = queue.add {}
        }
        #expect(try await operation.waitUntilFinished() == .cancelled)
    }

    @Test("The current queue and operation are those of the body, also in its child tasks")
    func current() async throws {
        let queue = LocalOperationQueue(name: "mail")
        #expect(LocalOperation.current == nil && LocalOperationQueue.current == nil)
        let operation = queue.add { () -> Bool in
            async let inChild = LocalOperationQueue.current === queue
            return await inChild && LocalOperation.current != nil
        }
        #expect(try await operation.value)
        let outside = ValueOperation { LocalOperationQueue.current == nil && LocalOperation.current != nil }
        try await outside.start()
        #expect(try await outside.value)
    }

    @Test("Cancelling all ends those that wait at once, tells those that run, and starts none")
    func cancelAll() async throws {
        let (queue, journal, gate) = (LocalOperationQueue(maxConcurrentOperationCount: 2), Journal(), Gate())
        let running = (0..<2).map { number in
            queue.add {
                journal.note("\(number)")
                await gate.wait()
                try Task.checkCancellation()
            }
        }
        let waiting = (0..<1000).map { _ in queue.add { journal.note("started") } }
        await journal.wait(count: 2)
        queue.cancelAllOperations(reason: "stop")
        #expect(waiting.allSatisfy { $0.state == .cancelled })
        #expect(queue.operationCount == 2)
        gate.open()
        try await queue.waitUntilAllOperationsAreFinished()
        #expect(running.allSatisfy { $0.state == .cancelled })
        #expect(journal.entries.count == 2)
    }

    @Test("From many tasks at once, every operation ends exactly once and the count comes back to zero")
    func storm() async throws {
        let queue = LocalOperationQueue(maxConcurrentOperationCount: 4)
        let ends = Journal()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    var last: ValueOperation<Void>?
                    for number in 0..<300 {
                        let operation = ValueOperation { if number % 7 == 0 { throw Oops() } }
                        operation.onEnd { _ in ends.note("end") }
                        if let last, number % 3 == 0 {
                            try? operation.addDependency(last, onFailure: number % 2 == 0 ? .run : .cancel)
                        }
                        try? queue.add(operation)
                        if number % 5 == 0 { operation.priority = .high }
                        if number % 11 == 0 { operation.cancel() }
                        if number % 50 == 0 { queue.maxConcurrentOperationCount = 1 + number % 4 }
                        last = operation
                    }
                }
            }
        }
        try await queue.waitUntilAllOperationsAreFinished()
        #expect(queue.operationCount == 0 && queue.executingCount == 0)
        // Hooks of what was cancelled while it waited run in tasks of their own.
        await ends.wait(count: 8 * 300)
        #expect(ends.entries.count == 8 * 300)
    }
}

/// Notes that it is in, and waits until its task is cancelled.
func untilCancelled(_ journal: Journal) async {
    let gate = Gate()
    await withTaskCancellationHandler {
        journal.note("in")
        await gate.wait()
    } onCancel: {
        gate.open()
    }
}
