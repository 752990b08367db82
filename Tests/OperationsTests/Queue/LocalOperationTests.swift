import Foundation
import Testing

@testable import Operations

struct Oops: Error, Equatable {
    var number = 0
}

@Suite("Local operations", .timeLimit(.minutes(60)))
struct LocalOperationTests {
    // MARK: States

    @Test("Only the transitions of the table are allowed, and terminal states have none")
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

    @Test("An illegal transition ends a debug build")
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

    @Test("A cancelled operation has no value, and the error gives the reason")
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

    @Test("After a cancel, a thrown error ends the operation as cancelled; a returned value finishes it")
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

    @Test("A cancelled operation does not pass its cancel to the next operation of the executor task")
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

    @Test("Adding an operation twice, or after its start, is refused")
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

    @Test("A negative limit, such as Foundation's default, means the default", arguments: [-1, -2, Int.min])
    func negativeLimit(count: Int) async throws {
        #expect(OperationQueue.defaultMaxConcurrentOperationCount == -1)
        let queue = LocalOperationQueue(maxConcurrentOperationCount: count)
        #expect(queue.maxConcurrentOperationCount == SluiceDefaults.slots)
        queue.maxConcurrentOperationCount = 1
        queue.maxConcurrentOperationCount = count
        #expect(queue.maxConcurrentOperationCount == SluiceDefaults.slots)
        let (journal, gate) = (Journal(), Gate())
        for number in 0..<SluiceDefaults.slots + 1 {
            queue.add {
                journal.note("\(number)")
                await gate.wait()
            }
        }
        await journal.wait(count: SluiceDefaults.slots)
        #expect(queue.executingCount == SluiceDefaults.slots)
        gate.open()
        try await queue.waitUntilAllOperationsAreFinished()
    }

    @Test("Task priority follows the quality of service of the operation, or else of the queue")
    func quality() async throws {
        let queue = LocalOperationQueue(maxConcurrentOperationCount: 1, qualityOfService: .utility)
        queue.isSuspended = true
        let plain = queue.add { Task.currentPriority }
        let urgent = queue.add(LocalOperationOptions(qualityOfService: .userInitiated)) { Task.currentPriority }
        let low = queue.add(LocalOperationOptions(qualityOfService: .background)) { Task.currentPriority }
        queue.isSuspended = false
        // No task waits here before the end, because waiting raises the task priority.
        let journal = Journal()
        low.onEnd { _ in journal.note("end") }
        await journal.wait(for: "end")
        #expect(try await plain.value == .utility)
        #expect(try await urgent.value == .userInitiated)
        #expect(try await low.value == .background)
    }

    @Test("A queue that is released while suspended cancels its operations")
    func releasedSuspended() async throws {
        let operation: ValueOperation<Void>
        do {
            let queue = LocalOperationQueue()
            queue.isSuspended = true
            operation = queue.add {}
        }
        #expect(try await operation.waitUntilFinished() == .cancelled)
    }

    @Test("The current queue and operation are those of the running body, also in its child tasks")
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

    @Test("Cancelling a queue ends waiting operations at once, cancels running ones and starts none")
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
}
