import Foundation
import Operations
import Testing

/// A synchronous subclass as they are written everywhere.
private final class Synchronous: Operation, @unchecked Sendable {
    let journal: Journal
    let gate: Gate?
    init(_ journal: Journal, gate: Gate? = nil) {
        self.journal = journal
        self.gate = gate
    }
    override func main() {
        journal.note("main")
        gate?.block()
        if isCancelled { return journal.note("saw cancel") }
        journal.note("done")
    }
}

/// The classic asynchronous subclass.
private final class Asynchronous: Operation, @unchecked Sendable {
    enum Bug { case none, neverFinishes, neverAnnounces }
    private let flags = Guarded((executing: false, finished: false))
    private let bug: Bug
    private let journal: Journal
    private let gate: Gate
    init(_ journal: Journal, gate: Gate, bug: Bug = .none) {
        self.journal = journal
        self.gate = gate
        self.bug = bug
    }
    override var isAsynchronous: Bool { true }
    override var isExecuting: Bool { flags.withLock { $0.executing } }
    override var isFinished: Bool { flags.withLock { $0.finished } }
    override func start() {
        if isCancelled { return finish() }
        willChangeValue(forKey: "isExecuting")
        flags.withLock { $0.executing = true }
        didChangeValue(forKey: "isExecuting")
        journal.note("start")
        Task { [self] in
            await gate.wait()
            journal.note("work")
            if bug != .neverFinishes { finish() }
        }
    }
    override func cancel() {
        super.cancel()
        journal.note("cancel()")
        if isExecuting, bug == .none { finish() }
    }
    private func finish() {
        if bug == .neverAnnounces { return flags.withLock { $0 = (false, true) } }
        willChangeValue(forKey: "isFinished")
        flags.withLock { $0 = (false, true) }
        didChangeValue(forKey: "isFinished")
    }
}

@Suite("Foundation operations in a local queue", .serialized, .timeLimit(.minutes(1)))
struct FoundationOperationTests {
    @Test("A synchronous one runs unchanged, its completion block too, and names and priorities carry over")
    func synchronous() async throws {
        let (queue, journal) = (LocalOperationQueue(), Journal())
        let operation = Synchronous(journal)
        operation.name = "old"
        operation.queuePriority = .veryHigh
        operation.qualityOfService = .utility
        operation.completionBlock = { journal.note("completion") }
        let local = queue.add(foundation: operation)
        #expect(local.name == "old" && local.priority == .veryHigh && local.qualityOfService == .utility)
        #expect(try await local.waitUntilFinished() == .finished)
        #expect(operation.isFinished)
        await journal.wait(for: "completion")
        #expect(journal.entries.prefix(2) == ["main", "done"])
    }

    @Test("An asynchronous one holds its slot until it announces isFinished")
    func asynchronous() async throws {
        let (queue, journal, gate) = (LocalOperationQueue(maxConcurrentOperationCount: 1), Journal(), Gate())
        let local = queue.add(foundation: Asynchronous(journal, gate: gate))
        let next = queue.add { journal.note("next") }
        await journal.wait(for: "start")
        #expect(local.isExecuting && !next.isExecuting)
        gate.open()
        #expect(try await local.waitUntilFinished() == .finished)
        try await next.value
        #expect(journal.entries == ["start", "work", "next"])
    }

    @Test("A cancel reaches cancel(), and it has ended as cancelled when it finishes")
    func cancel() async throws {
        let (queue, journal, gate) = (LocalOperationQueue(), Journal(), Gate())
        let (asynchronous, synchronous) = (Asynchronous(journal, gate: gate), Synchronous(journal, gate: gate))
        let locals = [queue.add(foundation: asynchronous), queue.add(foundation: synchronous)]
        await journal.wait(count: 2)
        for local in locals { local.cancel() }
        await journal.wait(for: "cancel()")
        #expect(synchronous.isCancelled && asynchronous.isCancelled)
        #expect(try await locals[0].waitUntilFinished() == .cancelled)
        gate.open()
        #expect(try await locals[1].waitUntilFinished() == .cancelled)
        #expect(journal.entries.contains("saw cancel"))
    }

    @Test("One that is cancelled while it waits finishes as Foundation's queue would have it")
    func cancelWaiting() async throws {
        let (queue, journal) = (LocalOperationQueue(), Journal())
        queue.isSuspended = true
        let operation = Asynchronous(journal, gate: Gate())
        operation.completionBlock = { journal.note("completion") }
        let local = queue.add(foundation: operation)
        local.cancel()
        #expect(local.state == .cancelled)
        await journal.wait(for: "completion")
        #expect(operation.isFinished && operation.isCancelled)
        #expect(!journal.entries.contains("start"))
    }

    @Test("One that never finishes, or never says so, meets its time limit", arguments: [true, false])
    func neverFinishes(announces: Bool) async throws {
        let (clock, journal, gate) = (TestClock(), Journal(), Gate())
        let queue = LocalOperationQueue(maxConcurrentOperationCount: 1, clock: clock)
        let threads = BlockingThreads(limit: 1)
        let operation = Asynchronous(journal, gate: gate, bug: announces ? .neverFinishes : .neverAnnounces)
        let local = ValueOperation(foundation: operation, runTimeout: .seconds(5), grace: .seconds(1), on: threads)
        try queue.add(local)
        await journal.wait(for: "start")
        // Behind it on its thread: it has returned from start, and was not finished then.
        try await threads.run {}
        gate.open()
        await journal.wait(for: "work")
        await clock.journal.wait(count: 1)
        #expect(local.isExecuting)
        clock.advance(by: .seconds(5))
        await clock.journal.wait(count: 2)
        // Foundation ignores the cancel of one that says it is finished.
        #expect(operation.isCancelled == announces)
        clock.advance(by: .seconds(1))
        let error = await #expect(throws: OperationsError.self) { try await local.value }
        #expect(error?.code == .timedOut)
        #expect(try await queue.add { "the slot is free" }.value == "the slot is free")
    }

    @Test("One whose own dependencies are not finished is dead instead of ending the process")
    func unready() async throws {
        let (queue, journal) = (LocalOperationQueue(), Journal())
        let (first, second) = (Synchronous(journal), Synchronous(journal))
        second.addDependency(first)
        let error = await #expect(throws: OperationsError.self) { try await queue.add(foundation: second).value }
        #expect(error?.code == .refused)
    }

    @Test("Every queuePriority becomes the nearest step towards normal")
    func priorities() {
        let expected: [Int: OperationPriority] = [
            -9: .veryLow, -8: .veryLow, -7: .low, -4: .low, -3: .normal, 0: .normal, 3: .normal, 4: .high, 7: .high,
            8: .veryHigh, 20: .veryHigh,
        ]
        for (number, priority) in expected {
            guard let foundation = Operation.QueuePriority(rawValue: number) else { continue }
            #expect(OperationPriority(foundation: foundation) == priority)
        }
    }
}
