import SluiceTesting
import Synchronization
import Testing

private struct Parent: DistributedOperation {
    static let name = "parent"
    /// The client of the program, stored for its operations.
    static let client = Mutex<SluiceClient?>(nil)

    func main(_ context: OperationContext) async throws {
        let client = try #require(Self.client.withLock { $0 })
        for _ in 0..<3 { try await client.enqueue(Child(), .queue("children")) }
    }
}

private struct Child: DistributedOperation {
    static let name = "child"

    func main(_ context: OperationContext) async throws -> Int { context.delivery }
}

private struct Note: OperationArguments, RetryDeciding {
    static let name = "note"
    typealias Output = Int
    let text: String
    static func decision(after error: any Error, attempt: Int) -> RetryDecision { .retry(after: .zero) }
}

@Suite("Sluice in memory", .timeLimit(.minutes(60)))
struct InMemorySluiceTests {
    @Test("A drain also runs operations that others enqueue, even in new queues")
    func children() async throws {
        let sluice = InMemorySluice(queues: .all) {
            $0.register(Parent.self)
            $0.register(Child.self)
        }
        Parent.client.withLock { $0 = sluice.client }
        try await sluice.run(Parent())
        #expect(try await sluice.waiting(Child.self, queue: "children").isEmpty)
        let handles = try await sluice.client.enqueue([Child(), Child()], .queue("children"))
        #expect(try await sluice.waiting(Child.self, queue: "children").count == 2)
        try await sluice.drain()
        for handle in handles { #expect(try await handle.value == 1) }
    }

    @Test("An operation in a queue that the worker does not serve is an error that names the queue")
    func unservedQueue() async throws {
        let sluice = InMemorySluice { $0.register(Child.self) }
        let alone = await #expect(throws: OperationsError.self) { try await sluice.run(Child(), .queue("mail")) }
        let drained = await #expect(throws: OperationsError.self) { try await sluice.drain() }
        let moved = await #expect(throws: OperationsError.self) { try await sluice.drainAll() }
        for error in [alone, drained, moved] {
            #expect(
                error?.code == .refused && error?.message.contains("queue mail") == true,
                "\(String(describing: error))"
            )
        }
        let later = InMemorySluice { $0.register(Child.self) }
        let delay = EnqueueOptions.delay(.seconds(60))
        let alsoAlone = await #expect(throws: OperationsError.self) {
            try await later.run(Child(), .queue("mail"), delay)
        }
        #expect(alsoAlone?.message.contains("does not serve") == true)
        // Not due: a drain has nothing to run, and drainAll would move the clock to it.
        try await later.drain()
        await #expect(throws: OperationsError.self) { try await later.drainAll() }
        later.clock.advance(by: .seconds(60))
        await #expect(throws: OperationsError.self) { try await later.drain() }
        let served = InMemorySluice(queues: QueueSelection(["mail"])) { $0.register(Child.self) }
        #expect(try await served.run(Child(), .queue("mail")) == 1)
    }

    @Test("A run with an invalid registration throws an error instead of waiting forever")
    func registration() async throws {
        let twice = InMemorySluice {
            $0.register(Child.self)
            $0.register(Child.self)
        }
        let error = await #expect(throws: WorkerError.self) { try await twice.run(Child()) }
        #expect(
            error?.code == .invalidConfiguration && error?.message.contains("\"child\" is registered twice") == true
        )
    }

    @Test("A registered closure captures its objects, and may be for arguments without a body")
    func bodies() async throws {
        let pool = Mutex<[String]>([])
        let sluice = InMemorySluice {
            $0.register(Note.self) { note, context in
                pool.withLock { $0.append("\(note.text) \(context.attempt)") }
                if context.attempt == 1 { throw CancellationError() }
                return note.text.count
            }
        }
        #expect(try await sluice.run(Note(text: "three")) == 5)
        #expect(pool.withLock { $0 } == ["three 1", "three 2"])
    }

    @Test("Operations of types known only at run time are enqueued and followed by reference")
    func anyOperation() async throws {
        let sluice = InMemorySluice {
            $0.register(Child.self)
            $0.register(Note.self) { note, _ in note.text.count }
        }
        let operations: [any OperationArguments] = [Child(), Note(text: "four")]
        var references: Set<OperationReference> = []
        for operation in operations { references.insert(try await sluice.client.enqueue(operation)) }
        try await sluice.drain()
        var results: Set<String> = []
        for reference in references {
            results.insert(String(decoding: try await reference.result(), as: UTF8.self))
            #expect(references.contains(sluice.client.reference(reference.id)))
        }
        #expect(results == ["1", "4"])
    }

    @Test("A handle retries, holds, releases and removes its operation, and reads its log")
    func control() async throws {
        let sluice = InMemorySluice {
            $0.register(Note.self) { note, context in
                context.logger.info("noting", metadata: ["text": "\(note.text)"])
                context.log("noted")
                if note.text == "bad" { throw OperationsError(.refused, "too bad") }
                return 0
            }
        }
        let held = try await sluice.client.enqueue(Note(text: "x"))
        #expect(try await held.hold(reason: "later") == .done)
        try await sluice.drain()
        #expect(try await held.state() == .blocked)
        #expect(try await held.release() == .done)
        try await sluice.drain()
        #expect(try await held.log().map(\.text) == ["noted"])
        #expect(try await held.retry() == .refused(.finished))
        #expect(try await held.remove() == .done)
        let gone = await #expect(throws: OperationsError.self) { for try await _ in held.changes {} }
        #expect(gone?.code == .notFound)
        let bad = try await sluice.client.enqueue(Note(text: "bad"), .attempts(1))
        try await sluice.drain()
        let error = await #expect(throws: OperationsError.self) { try await bad.value }
        #expect(error?.code == .dead && error?.failure?.message == "too bad" && error?.failure?.attempt == 1)
    }

    @Test("Lost calls and answers lose no operation")
    func faults() async throws {
        let sluice = InMemorySluice(faults: LostCalls(seed: 7, calls: 0.2, replies: 0.2)) { $0.register(Child.self) }
        let handles = try await sluice.client.enqueue((0..<50).map { _ in Child() })
        try await sluice.drain()
        for handle in handles { #expect(try await handle.state() == .finished) }
    }

    @Test("A run of an unregistered name throws an error instead of waiting forever")
    func unknownName() async throws {
        let sluice = InMemorySluice()
        let error = await #expect(throws: OperationsError.self) { try await sluice.run(Child()) }
        #expect(error?.code == .refused && error?.message.contains("\"child\"") == true)
    }

    @Test("Operations of a paused queue stay, and no call waits for them endlessly")
    func paused() async throws {
        let sluice = InMemorySluice(queues: .all) { $0.register(Child.self) }
        let (ready, scheduled) = try await (
            sluice.client.enqueue(Child()), sluice.client.enqueue(Child(), .delay(.seconds(60)))
        )
        try await sluice.client.pause(queue: SluiceDefaults.queue)
        try await sluice.drainAll()
        let error = await #expect(throws: OperationsError.self) { try await sluice.run(Child()) }
        #expect(error?.code == .refused)
        #expect(try await ready.state() == .ready)
        #expect(try await scheduled.state() == .scheduled)
        #expect(try await sluice.run(Child(), .queue("other")) == 1)
    }

    @Test("A wrong number of slots is refused")
    func slots() async throws {
        let sluice = InMemorySluice(slots: 0) { $0.register(Child.self) }
        let error = await #expect(throws: WorkerError.self) { try await sluice.run(Child()) }
        #expect(error?.code == .invalidConfiguration)
    }

    @Test("drainAll moves the clock within its limit")
    func limits() async throws {
        let sluice = InMemorySluice { $0.register(Child.self) }
        let soon = try await sluice.client.enqueue(Child(), .delay(.seconds(60)))
        let late = try await sluice.client.enqueue(Child(), .delay(.seconds(600)))
        let before = sluice.clock.now
        try await sluice.drainAll(within: .seconds(100))
        #expect(sluice.clock.now - before == 60_000)
        #expect(try await soon.state() == .finished)
        #expect(try await late.state() == .scheduled)
        try await sluice.drainAll()
        #expect(try await late.state() == .finished)
    }

    @Test("drain reports operations that wait for a rate, and drainAll and run move the clock past it")
    func rates() async throws {
        for (limit, options, what) in [
            (QueueLimit.rate(QueueRate(1, per: .seconds(60))), EnqueueOptions(), "its rate"),
            (.keyRate(QueueRate(1, per: .seconds(60))), .limitKey("acme"), "the rate of key \"acme\""),
        ] {
            let sluice = InMemorySluice { $0.register(Child.self) }
            try await sluice.client.limit(queue: SluiceDefaults.queue, limit)
            var handles: [OperationHandle<Child>] = []
            for _ in 0..<4 { handles.append(try await sluice.client.enqueue(Child(), options)) }
            let error = await #expect(throws: OperationsError.self) { try await sluice.drain() }
            #expect(error?.code == .refused)
            #expect(error?.message.contains("in queue default for \(what), ") == true, "\(error?.message ?? "")")
            #expect(error?.message.contains(" ms: call clock.advance(by: .milliseconds(") == true)
            #expect(try await handles[0].state() == .finished)
            #expect(try await handles[3].state() == .ready)
            let before = sluice.clock.now
            try await sluice.drainAll()
            for handle in handles { #expect(try await handle.state() == .finished) }
            #expect(sluice.clock.now - before >= 120_000)
            #expect(try await sluice.run(Child(), options) == 1)
        }
    }

    @Test("Encrypted operations run with equal keys")
    func keys() async throws {
        let keys = try OperationKeys(
            parsing:
                "sign a AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=; encrypt b AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
        )
        let sluice = InMemorySluice(keys: keys) { $0.register(Child.self) }
        #expect(try await sluice.run(Child()) == 1)
        try await sluice.client.enqueue(Child())
        #expect(try await sluice.waiting(Child.self).count == 1)
    }
}
