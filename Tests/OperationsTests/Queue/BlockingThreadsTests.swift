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

    /// What other threads do becomes visible in the pool only. The suite's time limit ends it.
    private func until(_ condition: () -> Bool) async {
        while !condition(), !Task.isCancelled { await Task.yield() }
    }

    @Test("A thread that a stuck body holds is replaced, and goes when the body returns")
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

    @Test("Replacements have a bound, and the status tells how many bodies wait behind it")
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

    @Test("A body that is cancelled while it waits for a thread does not begin, and its operation ends at once")
    func cancelledWhileItWaits() async throws {
        let threads = BlockingThreads(limit: 1)
        let queue = LocalOperationQueue(maxConcurrentOperationCount: LocalOperationQueue.unlimited)
        let (gate, journal) = (Gate(), Journal())
        let held = await hold(1, threads, until: gate, journal, in: queue)
        let dropped = (0..<3000).map { _ in queue.addBlocking(on: threads) { journal.note("began") } }
        await until { threads.status.waiting == dropped.count }
        let last = queue.addBlocking(on: threads) { journal.note("last") }
        for operation in dropped { operation.cancel() }
        // Their thread is still held.
        for operation in dropped { #expect(try await operation.waitUntilFinished() == .cancelled) }
        gate.open()
        try await last.value
        try await held[0].value
        #expect(journal.entries == ["held", "last"])
        #expect(threads.status.waiting == 0)
    }

    @Test("A body whose caller is cancelled before does not begin")
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
