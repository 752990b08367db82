import Foundation
import Operations
import Testing

private struct Shout: DistributedOperation {
    static let name = "shout"
    static var retryPolicy: RetryPolicy { RetryPolicy(attempts: 3, base: .seconds(1)) }
    let text: String
    func main(_ context: OperationContext) async throws -> String {
        context.progress(0.25, "warming up")
        context.log("attempt \(context.attempt) of \(context.maxAttempts)")
        guard try context.fence > 0, context.attempt == 2 else { throw Oops() }
        return text.uppercased() + " in " + context.queue + (context.headers["mark"] ?? "")
    }
}

private struct Introspection: DistributedOperation {
    static let name = "introspection"
    func main(_ context: OperationContext) async throws -> OperationContext { context }
    static func encode(result: OperationContext) throws -> [UInt8] { [] }
    static func decode(result: [UInt8]) throws -> OperationContext { throw Oops() }
}

private struct Discarding: DistributedOperation, RetryDeciding {
    static let name = "discarding"
    static func decision(after error: any Error, attempt: Int) -> RetryDecision { error is Oops ? .discard : .dead }
    func main(_ context: OperationContext) async throws { throw Oops() }
}

private final class Counter: Sendable {
    let total = Guarded(0)
    @Sendable func add(_ number: Int) async throws -> Int {
        guard number >= 0 else { throw Oops(number: number) }
        return total.withLock { total in
            total += number
            return total
        }
    }
}

@Suite("Ways to write a local operation", .timeLimit(.minutes(60)))
struct WaysTests {
    @Test("A distributed operation runs locally with its name, retry policy and context")
    func distributed() async throws {
        let clock = TestClock()
        let queue = LocalOperationQueue(name: "local", clock: clock)
        let operation = ValueOperation(running: Shout(text: "hey"))
        let changes = operation.changes
        try queue.add(operation)
        await clock.journal.wait(count: 1)
        clock.advance(by: .seconds(2))
        #expect(try await operation.value == "HEY in local")
        #expect(operation.name == "shout")
        var lines: [String] = []
        for await change in changes { if case .log(let line) = change.kind { lines.append(line) } }
        #expect(lines == ["attempt 1 of 3", "attempt 2 of 3"])
        #expect(operation.progress?.message == "warming up")
        #expect(try await queue.add(Discarding()).waitUntilFinished() == .cancelled)
        let marked = queue.add(Shout(text: "hey"), headers: ["mark": "!"])
        await clock.journal.wait(count: 2)
        clock.advance(by: .seconds(2))
        #expect(try await marked.value == "HEY in local!")
    }

    @Test("A definition makes operations with typed arguments and results")
    func definition() async throws {
        let queue = LocalOperationQueue()
        let repeated = OperationDefinition("text.repeat", options: LocalOperationOptions(priority: .high)) {
            (arguments: (text: String, times: Int)) in
            String(repeating: arguments.text, count: arguments.times)
        }
        let operation = queue.add(repeated, with: ("ab", 3))
        #expect(try await operation.value == "ababab")
        #expect(operation.name == "text.repeat" && operation.priority == .high)
        let outside = repeated.operation(with: ("x", 2))
        try await outside.start()
        #expect(try await outside.value == "xx")
    }

    @Test("A bound method's result and error become the operation's")
    func method() async throws {
        let (queue, counter) = (LocalOperationQueue(maxConcurrentOperationCount: 1), Counter())
        let add = OperationDefinition("counter.add", target: counter, method: Counter.add)
        let (first, second, third) = (queue.add(add, with: 2), queue.add(add, with: 3), queue.add(add, with: -1))
        #expect(try await first.value == 2)
        #expect(try await second.value == 5)
        await #expect(throws: Oops(number: -1)) { try await third.value }
    }

    @Test("Several closures run concurrently on one slot and end together")
    func concurrent() async throws {
        let (queue, journal, gate) = (LocalOperationQueue(maxConcurrentOperationCount: 1), Journal(), Gate())
        let bodies: [@Sendable () async throws -> Int] = (0..<3).map { number in
            {
                journal.note("\(number)")
                await gate.wait()
                return number
            }
        }
        let operation = ValueOperation.concurrent(bodies)
        try queue.add(operation)
        await journal.wait(count: 3)
        #expect(queue.executingCount == 1)
        gate.open()
        #expect(try await operation.value == [0, 1, 2])
        let mixed: [@Sendable () async throws -> Void] = [
            { journal.note("a") }, { throw Oops(number: 1) }, { journal.note("b") }, { throw Oops(number: 2) },
        ]
        let failing = ValueOperation.concurrent(mixed)
        try queue.add(failing)
        await #expect(throws: Oops(number: 1)) { try await failing.value }
        #expect(journal.entries.contains("a") && journal.entries.contains("b"))
    }

    @Test("Blocking bodies may hold more threads than the cooperative pool has, and tasks continue")
    func blocking() async throws {
        let count = ProcessInfo.processInfo.activeProcessorCount * 4
        let threads = BlockingThreads(limit: count)
        let queue = LocalOperationQueue(maxConcurrentOperationCount: LocalOperationQueue.unlimited)
        let (journal, gate) = (Journal(), Gate())
        let operations = (0..<count).map { number in
            queue.addBlocking(on: threads) {
                journal.note("\(LocalOperation.current != nil)")
                gate.block()
                return number
            }
        }
        await journal.wait(count: count)
        #expect(Set(journal.entries) == ["true"])
        #expect(threads.threadCount == count)
        #expect(try await queue.add { "not held up" }.value == "not held up")
        gate.open()
        for (number, operation) in operations.enumerated() { #expect(try await operation.value == number) }
    }

    @Test("The pool starts no more threads than its limit, and work waits in order")
    func threadLimit() async throws {
        let threads = BlockingThreads(limit: 1)
        let journal = Journal()
        let queue = LocalOperationQueue(maxConcurrentOperationCount: 1)
        for number in 0..<100 { queue.addBlocking(on: threads) { journal.note("\(number) \(threads.threadCount)") } }
        try await queue.waitUntilAllOperationsAreFinished()
        #expect(journal.entries == (0..<100).map { "\($0) 1" })
    }

    @Test("A blocking body detects a cancel by checking for it")
    func blockingCancel() async throws {
        let (queue, journal, gate) = (LocalOperationQueue(), Journal(), Gate())
        let operation = queue.addBlocking {
            journal.note("in")
            gate.block()
            try LocalOperation.current?.checkCancellation()
        }
        await journal.wait(for: "in")
        operation.cancel()
        gate.open()
        #expect(try await operation.waitUntilFinished() == .cancelled)
    }
}
