import Foundation
import Operations
import Testing

/// A typical synchronous subclass.
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

/// An operation that is never ready, like one that waits for an external signal.
private final class Unready: Operation, @unchecked Sendable {
    let journal: Journal
    init(_ journal: Journal) { self.journal = journal }
    override var isReady: Bool {
        journal.note("isReady")
        return false
    }
    override func main() { journal.note("main") }
}

/// A typical asynchronous subclass.
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
        if bug == .neverAnnounces {
            flags.withLock { $0 = (false, true) }
            return journal.note("silent finish")
        }
        willChangeValue(forKey: "isFinished")
        flags.withLock { $0 = (false, true) }
        didChangeValue(forKey: "isFinished")
    }
}

@Suite("Foundation operations in a local queue", .serialized, .timeLimit(.minutes(60)))
struct FoundationOperationTests {
    @Test("A synchronous operation runs unchanged with its completion block, and keeps name and priorities")
    func synchronous() async throws {
        let (queue, journal) = (LocalOperationQueue(), Journal())
        let operation = Synchronous(journal)
        operation.name = "old"
        operation.queuePriority = .veryHigh
        operation.qualityOfService = .utility
        operation.completionBlock = { journal.note("completion") }
        let local = try queue.add(foundation: operation)
        #expect(local.name == "old" && local.priority == .veryHigh && local.qualityOfService == .utility)
        #expect(try await local.waitUntilFinished() == .finished)
        #expect(operation.isFinished)
        await journal.wait(for: "completion")
        #expect(journal.entries.prefix(2) == ["main", "done"])
    }

    @Test("An asynchronous operation keeps its slot until it announces isFinished")
    func asynchronous() async throws {
        let (queue, journal, gate) = (LocalOperationQueue(maxConcurrentOperationCount: 1), Journal(), Gate())
        let local = try queue.add(foundation: Asynchronous(journal, gate: gate))
        let next = queue.add { journal.note("next") }
        await journal.wait(for: "start")
        #expect(local.isExecuting && !next.isExecuting)
        gate.open()
        #expect(try await local.waitUntilFinished() == .finished)
        try await next.value
        #expect(journal.entries == ["start", "work", "next"])
    }

    @Test("A cancel calls cancel(), and the operation ends as cancelled")
    func cancel() async throws {
        let (queue, journal, gate) = (LocalOperationQueue(), Journal(), Gate())
        let (asynchronous, synchronous) = (Asynchronous(journal, gate: gate), Synchronous(journal, gate: gate))
        let locals = try [queue.add(foundation: asynchronous), queue.add(foundation: synchronous)]
        await journal.wait(count: 2)
        for local in locals { local.cancel() }
        await journal.wait(for: "cancel()")
        #expect(synchronous.isCancelled && asynchronous.isCancelled)
        #expect(try await locals[0].waitUntilFinished() == .cancelled)
        gate.open()
        #expect(try await locals[1].waitUntilFinished() == .cancelled)
        #expect(journal.entries.contains("saw cancel"))
    }

    @Test("An operation cancelled while it waits finishes as in Foundation's queue")
    func cancelWaiting() async throws {
        let (queue, journal) = (LocalOperationQueue(), Journal())
        queue.isSuspended = true
        let operation = Asynchronous(journal, gate: Gate())
        operation.completionBlock = { journal.note("completion") }
        let local = try queue.add(foundation: operation)
        local.cancel()
        #expect(local.state == .cancelled)
        await journal.wait(for: "completion")
        #expect(operation.isFinished && operation.isCancelled)
        #expect(!journal.entries.contains("start"))
    }

    @Test("An operation that never finishes, or never announces it, ends at its run timeout", arguments: [true, false])
    func neverFinishes(announces: Bool) async throws {
        let (clock, journal, gate) = (TestClock(), Journal(), Gate())
        let queue = LocalOperationQueue(maxConcurrentOperationCount: 1, clock: clock)
        let threads = BlockingThreads(limit: 1)
        let operation = Asynchronous(journal, gate: gate, bug: announces ? .neverFinishes : .neverAnnounces)
        let local = try ValueOperation(foundation: operation, runTimeout: .seconds(5), grace: .seconds(1), on: threads)
        try queue.add(local)
        await journal.wait(for: "start")
        // The pool has one thread: when this call returns, the operation has returned from start.
        try await threads.run {}
        gate.open()
        await journal.wait(for: announces ? "work" : "silent finish")
        await clock.journal.wait(count: 1)
        #expect(local.isExecuting)
        clock.advance(by: .seconds(5))
        await clock.journal.wait(count: 2)
        // Foundation ignores the cancel of an operation whose `isFinished` is true.
        #expect(operation.isCancelled == announces)
        clock.advance(by: .seconds(1))
        let error = await #expect(throws: OperationsError.self) { try await local.value }
        #expect(error?.code == .timedOut)
        #expect(try await queue.add { "the slot is free" }.value == "the slot is free")
    }

    @Test("An operation with unfinished Foundation dependencies ends as dead and does not crash the process")
    func unready() async throws {
        let (queue, journal) = (LocalOperationQueue(), Journal())
        let (first, second) = (Synchronous(journal), Synchronous(journal))
        second.addDependency(first)
        let error = await #expect(throws: OperationsError.self) { try await queue.add(foundation: second).value }
        #expect(error?.code == .refused)
    }

    @Test("An unready operation that is cancelled while it waits ends as cancelled and never starts")
    func unreadyCancelled() async throws {
        let (queue, journal, threads) = (LocalOperationQueue(), Journal(), BlockingThreads(limit: 1))
        queue.isSuspended = true
        let unready = Unready(journal)
        let local = try ValueOperation(foundation: unready, on: threads)
        try queue.add(local)
        local.cancel()
        #expect(local.state == .cancelled)
        let dropped = Unready(journal)
        do { _ = try ValueOperation(foundation: dropped, on: threads) }
        // A separate task finishes an operation that is cancelled before it runs. That task uses the shared threads or
        // the given ones.
        let byHand = try ValueOperation(foundation: Unready(journal), on: threads)
        let error = await #expect(throws: OperationsError.self) {
            try await byHand.start()
            try await byHand.value
        }
        #expect(error?.code == .refused)
        await journal.wait { $0.filter { $0 == "isReady" }.count >= 2 }
        try await threads.run {}
        #expect(unready.isCancelled && !journal.entries.contains("main"))
    }

    @Test("An unready operation cancelled before its thread picks it up ends as cancelled")
    func unreadyCancelledOnItsWay() async throws {
        let (queue, journal, gate, threads) = (LocalOperationQueue(), Journal(), Gate(), BlockingThreads(limit: 1))
        let busy = Task { try await threads.run { gate.block() } }
        let unready = Unready(journal)
        let local = try ValueOperation(foundation: unready, on: threads)
        let changes = local.changes
        try queue.add(local)
        for await change in changes where change.kind == .state(.executing) { break }
        local.cancel()
        gate.open()
        #expect(try await local.waitUntilFinished() == .cancelled)
        try await busy.value
        #expect(!journal.entries.contains("main"))
    }

    @Test("A Foundation operation that is already added is refused everywhere else")
    func twice() async throws {
        let (queue, other, journal, gate) = (LocalOperationQueue(), LocalOperationQueue(), Journal(), Gate())
        let operation = Synchronous(journal, gate: gate)
        operation.name = "only \u{1B}[31monce"
        let local = try queue.add(foundation: operation)
        for attempt in [{ try queue.add(foundation: operation) }, { try other.add(foundation: operation) }] {
            let error = #expect(throws: OperationsError.self) { try attempt() }
            #expect(error?.code == .refused)
            #expect(error?.message.contains("\u{1B}") == false)
        }
        #expect(throws: OperationsError.self) { try ValueOperation(foundation: operation) }
        let definition = OperationDefinition<Void, Void>.foundation("again") { operation }
        let error = await #expect(throws: OperationsError.self) { try await queue.add(definition, with: ()).value }
        #expect(error?.code == .refused)
        gate.open()
        try await local.value
        // A finished operation is refused. Foundation's queue would end the process here.
        #expect(throws: OperationsError.self) { try queue.add(foundation: operation) }
        #expect(journal.entries == ["main", "done"])
    }

    @Test("A finished operation is refused with the same reason each time: a refusal reserves nothing")
    func refusedTwice() {
        let queue = LocalOperationQueue()
        let operation = Synchronous(Journal())
        operation.start()
        for _ in 0..<2 {
            let error = #expect(throws: OperationsError.self) { try queue.add(foundation: operation) }
            #expect(error?.message.contains("was started before") == true)
        }
    }

    @Test("When many tasks add one operation at once, exactly one addition succeeds")
    func contended() async throws {
        let queue = LocalOperationQueue(maxConcurrentOperationCount: 4)
        for _ in 0..<200 {
            let journal = Journal()
            let operation = Synchronous(journal)
            let locals = await withTaskGroup(of: ValueOperation<Void>?.self) { group in
                for _ in 0..<4 { group.addTask { try? queue.add(foundation: operation) } }
                return await group.reduce(into: [ValueOperation<Void>?]()) { $0.append($1) }.compactMap(\.self)
            }
            for local in locals { try await local.value }
            #expect(locals.count == 1)
            #expect(journal.entries == ["main", "done"])
        }
    }

    @Test("An operation that was released before it ran may be added again")
    func droppedUnrun() async throws {
        let (queue, journal) = (LocalOperationQueue(), Journal())
        let operation = Synchronous(journal)
        do { _ = try ValueOperation(foundation: operation) }
        try await queue.add(foundation: operation).value
        #expect(journal.entries == ["main", "done"])
    }

    @Test("An operation started by hand, or added to Foundation's queue, is refused")
    func begunElsewhere() throws {
        let (queue, journal, theirs) = (LocalOperationQueue(), Journal(), OperationQueue())
        let started = Synchronous(journal)
        started.start()
        #expect(throws: OperationsError.self) { try queue.add(foundation: started) }
        theirs.isSuspended = true
        let enqueued = Synchronous(journal)
        theirs.addOperation(enqueued)
        #expect(throws: OperationsError.self) { try queue.add(foundation: enqueued) }
        theirs.cancelAllOperations()
        theirs.isSuspended = false
        theirs.waitUntilAllOperationsAreFinished()
    }

    @Test("An operation that other code starts after adding ends as dead and does not crash the process")
    func begunMeanwhile() async throws {
        let (queue, journal, gate) = (LocalOperationQueue(), Journal(), Gate())
        queue.isSuspended = true
        let operation = Synchronous(journal, gate: gate)
        let local = try queue.add(foundation: operation)
        Thread.detachNewThread { operation.start() }
        await journal.wait(for: "main")
        queue.isSuspended = false
        let error = await #expect(throws: OperationsError.self) { try await local.value }
        #expect(error?.code == .refused)
        gate.open()
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
