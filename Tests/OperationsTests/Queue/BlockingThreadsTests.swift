import Testing

@testable import Operations

@Suite("Threads of blocking bodies", .timeLimit(.minutes(60)))
struct BlockingThreadsTests {
    /// Starts bodies that hold a thread until the gate opens, and returns when all have begun.
    private func hold(
        _ count: Int,
        _ threads: BlockingThreads,
        until gate: Gate,
        _ journal: Journal,
        in queue: LocalOperationQueue
    ) async -> [ValueOperation<Void>] {
        let operations = (0..<count).map { _ in
            queue.addBlocking(on: threads) {
                journal.note("held")
                gate.block()
            }
        }
        await journal.wait { $0.filter { $0 == "held" }.count >= count }
        return operations
    }

    /// Polls until the condition holds. Another thread changes the pool, and nothing signals the change. The time limit
    /// of the suite ends this loop.
    private func until(_ condition: () -> Bool) async {
        while !condition(), !Task.isCancelled { await Task.yield() }
    }

    @Test("The pool replaces a thread that a stuck body holds; the thread ends when the body returns")
    func replaced() async throws {
        let threads = BlockingThreads(limit: 4, grace: .milliseconds(1))
        let queue = LocalOperationQueue(maxConcurrentOperationCount: LocalOperationQueue.unlimited)
        let gate = Gate()
        let held = await hold(4, threads, until: gate, Journal(), in: queue)
        let healthy = queue.addBlocking(on: threads) { "healthy" }
        for operation in held { operation.cancel() }
        #expect(try await healthy.value == "healthy")
        await until { threads.status.stuck == 4 }
        gate.open()
        for operation in held { #expect(try await operation.waitUntilFinished() == .finished) }
        await until { threads.status.stuck == 0 && threads.threadCount <= 4 }
    }

    @Test("Replacement threads are limited, and the status counts the bodies that wait for a thread")
    func bound() async throws {
        let threads = BlockingThreads(limit: 2, replacements: 1, grace: .milliseconds(1))
        let queue = LocalOperationQueue(maxConcurrentOperationCount: LocalOperationQueue.unlimited)
        let (gate, journal) = (Gate(), Journal())
        let first = await hold(2, threads, until: gate, journal, in: queue)
        for operation in first { operation.cancel() }
        let second = await hold(1, threads, until: gate, Journal(), in: queue)
        second[0].cancel()
        await until { threads.status.stuck == 3 }
        let waiting = queue.addBlocking(on: threads) { "waited" }
        await until { threads.status.waiting == 1 }
        #expect(threads.status == BlockingThreads.Status(threads: 3, waiting: 1, stuck: 3, replacements: 1))
        gate.open()
        #expect(try await waiting.value == "waited")
    }

    @Test("A body that is cancelled while it waits for a thread never begins, and its operation ends at once")
    func cancelledWhileItWaits() async throws {
        let threads = BlockingThreads(limit: 1)
        let queue = LocalOperationQueue(maxConcurrentOperationCount: LocalOperationQueue.unlimited)
        let (gate, journal) = (Gate(), Journal())
        let held = await hold(1, threads, until: gate, journal, in: queue)
        let dropped = (0..<3000).map { _ in queue.addBlocking(on: threads) { journal.note("began") } }
        await until { threads.status.waiting == dropped.count }
        let last = queue.addBlocking(on: threads) { journal.note("last") }
        for operation in dropped { operation.cancel() }
        // The gate is still closed, so the only thread is still held.
        for operation in dropped { #expect(try await operation.waitUntilFinished() == .cancelled) }
        gate.open()
        try await last.value
        try await held[0].value
        #expect(journal.entries == ["held", "last"])
        #expect(threads.status.waiting == 0)
    }

    @Test("A body whose caller is already cancelled does not begin")
    func cancelledBefore() async throws {
        let (threads, journal) = (BlockingThreads(limit: 1), Journal())
        let caller = Task {
            while !Task.isCancelled { await Task.yield() }
            try await threads.run { journal.note("began") }
        }
        caller.cancel()
        await #expect(throws: CancellationError.self) { try await caller.value }
        #expect(journal.entries.isEmpty && threads.threadCount == 0)
    }
}
