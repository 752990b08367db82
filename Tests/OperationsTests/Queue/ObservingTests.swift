import Foundation
import Testing

@testable import Operations

@Suite("Waiting for local operations and observing them", .timeLimit(.minutes(60)))
struct ObservingTests {
    @Test("Cancelling a waiting task ends the wait but not the operation")
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

    @Test("Hooks run once, in order, before waiting tasks resume")
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

    @Test("A hook may call its queue and operation")
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

    @Test("A stream of changes begins with the current state and ends with the terminal one")
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

    @Test("The queue's stream has every change of every operation once and in order")
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

    @Test("A queue's progress counts added and ended operations; `since` counts one batch alone")
    func queueProgress() async throws {
        let (queue, gate) = (LocalOperationQueue(maxConcurrentOperationCount: 1), Gate())
        #expect(queue.progress == LocalQueueProgress(completed: 0, total: 0))
        #expect(queue.progress.fraction == 1)
        for _ in 0..<3 { queue.add {} }
        try await queue.waitUntilAllOperationsAreFinished()
        let before = queue.progress
        #expect(before == LocalQueueProgress(completed: 3, total: 3))
        queue.add { await gate.wait() }
        let waiting = queue.add {}
        let failing = queue.add { throw Oops(number: 1) }
        #expect(queue.progress.since(before) == LocalQueueProgress(completed: 0, total: 3))
        waiting.cancel()
        #expect(queue.progress == LocalQueueProgress(completed: 4, total: 6))
        #expect(queue.progress.since(before, expecting: 4).fraction == 0.25)
        gate.open()
        try await failing.waitUntilFinished()
        #expect(queue.progress == LocalQueueProgress(completed: 6, total: 6))
    }

    @Test("The stream of a queue's progress begins with the current value, never goes back, and ends with the queue")
    func queueProgressChanges() async throws {
        let (gate, count) = (Gate(), 100)
        var queue: LocalOperationQueue? = LocalOperationQueue()
        var changes = try #require(queue).progressChanges.makeAsyncIterator()
        #expect(await changes.next() == LocalQueueProgress(completed: 0, total: 0))
        for _ in 0..<count { queue?.add { await gate.wait() } }
        #expect(await changes.next() == LocalQueueProgress(completed: 0, total: count))
        gate.open()
        var completed = 0
        while completed < count, let progress = await changes.next() {
            #expect(progress.completed >= completed && progress.total == count)
            completed = progress.completed
        }
        #expect(completed == count)
        queue = nil
        #expect(await changes.next() == nil)
    }
}
