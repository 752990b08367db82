import Operations
import TestSupport
import Testing

@testable import BrokerModel
@testable import WorkerRuntime

@Suite("A worker", .timeLimit(.minutes(60)))
struct RunningTests {
    struct Double: DistributedOperation {
        static let name = "double"
        let number: Int
        func main(_ context: OperationContext) async throws -> Int { 2 * number }
    }

    @Test("A worker runs operations enqueued before and after its start, and stores the results")
    func runs() async throws {
        var registry = OperationRegistry()
        registry.register(Double.self)
        let broker = InMemoryBroker()
        let worker = WorkerService(
            broker: broker,
            registry: registry,
            configuration: .quick(),
            logger: LogRecorder().logger()
        )
        let first = try await broker.put("double", #"{"number":21}"#)
        let running = Task { try await worker.run() }
        #expect(try await broker.awaitEnd(of: [first], queue: "default", timeout: patience) == [.finished])
        let second = try await broker.put("double", #"{"number":4}"#)
        #expect(try await broker.awaitEnd(of: [second], queue: "default", timeout: patience) == [.finished])
        let details = try await broker.details([first, second], queue: "default")
        #expect(details.map { $0?.result.map { String(decoding: $0, as: UTF8.self) } } == ["42", "8"])
        worker.stop()
        try await running.value
    }

    @Test("A failed operation runs again after its pause, and is dead after its last attempt")
    func retries() async throws {
        let harness = Harness()
        harness.start()
        let id = try await harness.broker.put(
            "fail",
            #"{"message":"no luck"}"#,
            retry: RetryPolicy(attempts: 3, base: .milliseconds(20))
        )
        #expect(try await harness.reaches(.dead, id))
        let errors = try await harness.detail(id)?.errors ?? []
        #expect(errors.count == 3)
        #expect(errors.allSatisfy { String(decoding: $0.error, as: UTF8.self).contains("no luck") })
        try await harness.stop()
    }

    /// Snoozes until it has run three times.
    struct Patient: DistributedOperation, RetryDeciding, EndObserving {
        static let name = "patient"
        static let retryPolicy = RetryPolicy.never
        let milliseconds: Int
        static func decision(after error: any Error, attempt: Int) -> RetryDecision { .dead }
        func main(_ context: OperationContext) async throws -> Int {
            let runs = try await context.lastCheckpoint(as: Int.self) ?? 0
            try context.checkpoint(runs + 1)
            context.log("run \(runs), attempt \(context.attempt), delivery \(context.delivery)")
            if runs < 2 { throw Snooze(for: .milliseconds(milliseconds), "run \(runs)") }
            return runs
        }
        func ended(_ ending: LocalOperationEnding, _ context: OperationContext) async {
            context.log("ended \(ending.state)")
        }
    }

    @Test("A body that snoozes runs again in the same attempt, with its checkpoint and without an error")
    func snoozes() async throws {
        let harness = Harness(register: { $0.register(Patient.self) })
        harness.start()
        let id = try await harness.broker.put("patient", #"{"milliseconds":1}"#)
        #expect(try await harness.reaches(.finished, id))
        let detail = try #require(try await harness.detail(id))
        #expect(detail.errors.isEmpty && detail.record.attempt == 1)
        #expect(detail.snooze?.count == 2 && detail.snooze?.reason == "run 1")
        let lines = try await harness.broker.log(id, queue: "default", from: 0, limit: 10).lines
        let runs = (0...2).map { "run \($0), attempt 1, delivery 1" }
        #expect(lines.map { String(decoding: $0.text, as: UTF8.self) } == runs + ["ended finished"])
        try await harness.stop()
    }

    @Test("A snooze after a cancel ends as cancelled, and one after the run timeout as failed")
    func snoozesTooLate() async throws {
        let gate = Gate()
        let late = OperationHandler(name: "late", retryPolicy: .never) { _, context in
            try? await gate.pass(context)
            throw Snooze(for: .seconds(3600))
        }
        let harness = Harness(handlers: [late])
        harness.start()
        let cancelled = try await harness.broker.put("late")
        #expect(await comesTrue { gate.arrived.contains(cancelled) })
        let request = CancelRequest(reason: "enough", by: "ann")
        _ = try await harness.broker.cancel([cancelled], request: request, queue: "default")
        #expect(try await harness.reaches(.cancelled, cancelled))
        let envelope = OperationEnvelope(name: "late", runTimeout: .milliseconds(20))
        let overdue = NewOperation(envelope: envelope.encoded())
        _ = try await harness.broker.enqueue([overdue], queue: "default")
        #expect(try await harness.reaches(.dead, overdue.id))
        #expect(try await harness.detail(overdue.id)?.snooze == nil)
        try await harness.stop()
    }

    /// Has a number of attempts that differs from the default.
    struct Stubborn: DistributedOperation {
        static let name = "stubborn"
        static let retryPolicy = RetryPolicy(attempts: 2, base: .milliseconds(10))
        func main(_ context: OperationContext) async throws {
            context.log("\(context.attempt) of \(context.maxAttempts)")
            throw CancellationError()
        }
    }

    @Test("The type's retry policy applies unless the producer sets its own")
    func policies() async throws {
        var registry = OperationRegistry()
        registry.register(Stubborn.self)
        let harness = Harness(handlers: [try #require(registry["stubborn"])])
        harness.start()
        let silent = try await harness.broker.put("stubborn")
        let explicit = OperationEnvelope(name: "stubborn", retry: RetryOverrides(attempts: 3))
        let said = NewOperation(envelope: explicit.encoded())
        _ = try await harness.broker.enqueue([said], queue: "default")
        for id in [silent, said.id] { #expect(try await harness.reaches(.dead, id)) }
        #expect(try await harness.detail(silent)?.errors.count == 2)
        #expect(try await harness.detail(said.id)?.errors.count == 3)
        let lines = try await harness.broker.log(silent, queue: "default", from: 0, limit: 10).lines
        #expect(lines.map { String(decoding: $0.text, as: UTF8.self) } == ["1 of 2", "2 of 2"])
        try await harness.stop()
    }

    @Test("Finished, failed, cancelled and unreadable operations are counted separately")
    func counters() async throws {
        let gate = Gate()
        let harness = Harness(handlers: [holding(gate)])
        harness.start()
        let held = try await harness.broker.put("hold")
        let failing = try await harness.broker.put("fail", retry: .never)
        let finishing = try await harness.broker.put("noop")
        let unreadable = NewOperation(envelope: Array("not json".utf8))
        _ = try await harness.broker.enqueue([unreadable], queue: "default")
        // A cancel that comes before the answer to the claim is not counted, so the body must run.
        #expect(await comesTrue { gate.arrived == [held] })
        _ = try await harness.cancel(held)
        for id in [failing, unreadable.id] { #expect(try await harness.reaches(.dead, id)) }
        #expect(try await harness.reaches(.cancelled, held))
        #expect(try await harness.reaches(.finished, finishing))
        let info = harness.worker.core.info()
        #expect(info.finished == 1 && info.failed == 2 && info.cancelled == 1 && info.malformed == 1)
        try await harness.stop()
    }

    @Test("An operation is dead at once if another attempt is pointless")
    func pointless() async throws {
        let harness = Harness()
        harness.start()
        let refused = try await harness.broker.put("fail", #"{"retryable":false}"#)
        let wrong = try await harness.broker.put("sleep", #"{"seconds":"long"}"#)
        #expect(try await harness.reaches(.dead, refused))
        #expect(try await harness.reaches(.dead, wrong))
        let error = String(decoding: try await harness.detail(wrong)?.errors.first?.error ?? [], as: UTF8.self)
        #expect(error.contains(#""type":"arguments""#) && error.contains("must be a number"))
        try await harness.stop()
    }

    @Test("An operation without a handler is set aside as unhandled and uses no attempt")
    func unknownName() async throws {
        let harness = Harness()
        harness.start()
        // Both at once, because the name is logged again after a minute.
        let ids = [try await harness.broker.put("unknown.name"), try await harness.broker.put("unknown.name")]
        for id in ids {
            #expect(try await comesTrue { try await harness.detail(id)?.isUnhandled == true })
            let record = try await harness.detail(id)?.record
            #expect(record?.header.failedAttempts == 0 && record?.header.delivery == 1)
        }
        #expect(harness.log.messages.filter { $0.contains("no operation of this name") }.count == 1)
        try await harness.stop()
    }

    @Test("Each unhandled name is logged once a minute, with the number of operations")
    func unhandledNameLog() {
        let (names, start) = (UnhandledNameLog(), ContinuousClock.now)
        #expect(names.note("a", start) == .init(name: "a", count: 1))
        #expect(names.note("b", start) == .init(name: "b", count: 1))
        #expect(names.note("a", start + .seconds(1)) == nil && names.note("a", start + .seconds(59)) == nil)
        #expect(names.note("a", start + .seconds(60)) == .init(name: "a", count: 3))
        #expect(names.note("a", start + .seconds(61)) == nil)
    }

    @Test("Impossible names, and names beyond a hundred a minute, are counted together")
    func madeUpNames() {
        let (names, start) = (UnhandledNameLog(), ContinuousClock.now)
        #expect(names.note("", start) == .init(name: nil, count: 1))
        #expect(names.note(String(repeating: "x", count: 1 << 20), start) == nil)
        for number in 1...UnhandledNameLog.most {
            #expect(names.note("made.up.\(number)", start + .seconds(30)) == .init(name: "made.up.\(number)", count: 1))
        }
        #expect(names.note("one.more", start + .seconds(59)) == nil)
        #expect(names.note("and.another", start + .seconds(60)) == .init(name: nil, count: 3))
        #expect(names.note("made.up.1", start + .seconds(60)) == nil)
        // Names of a minute ago make room.
        #expect(names.note("one.more", start + .seconds(90)) == .init(name: "one.more", count: 1))
        #expect(names.note("made.up.2", start + .seconds(90)) == .init(name: "made.up.2", count: 1))
    }

    @Test("An attempt that exceeds its run timeout fails with type timeout")
    func runTimeout() async throws {
        let harness = Harness()
        harness.start()
        let id = try await harness.broker.put(
            "sleep",
            #"{"seconds":60}"#,
            retry: .never,
            runTimeout: .milliseconds(50)
        )
        #expect(try await harness.reaches(.dead, id))
        let error = String(decoding: try await harness.detail(id)?.errors.first?.error ?? [], as: UTF8.self)
        #expect(error.contains(#""type":"timeout""#))
        try await harness.stop()
    }

    @Test("A delayed operation starts on time, and one that is enqueued later but due earlier starts first")
    func delays() async throws {
        let order = Gate()
        order.open()
        let harness = Harness(
            // With one slot, operations that are due at the same time on a slow machine still start in order.
            configuration: .quick(slots: 1),
            handlers: [
                OperationHandler(name: "note") { _, context in
                    try await order.pass(context)
                    return []
                }
            ]
        )
        harness.start()
        #expect(await comesTrue { harness.worker.core.queue.withLock { $0.members.first?.supply.state == .quiet } })
        // Ten seconds, so that the second one is due earlier even if the machine is blocked between the two.
        let late = try await harness.broker.put("note", delay: 10_000)
        let enqueuedAt = ContinuousClock.now
        let early = try await harness.broker.put("note", delay: 150)
        #expect(try await harness.reaches(.finished, early))
        #expect(try await harness.reaches(.finished, late))
        expectPrompt("due in ten seconds", since: enqueuedAt, promised: .seconds(10))
        #expect(order.arrived == [early, late])
        try await harness.stop()
    }

    @Test("A worker uses all its slots and never exceeds them")
    func slots() async throws {
        let gate = Gate()
        let harness = Harness(
            configuration: .quick(slots: 3),
            handlers: [
                OperationHandler(name: "hold") { _, context in
                    try await gate.pass(context)
                    return []
                }
            ]
        )
        harness.start()
        var ids: [OperationID] = []
        for _ in 0..<10 { ids.append(try await harness.broker.put("hold")) }
        #expect(await comesTrue { gate.arrived.count == 3 })
        // Two claims at once may bring more operations than slots; those that do not start go back.
        #expect(
            try await comesTrue {
                try await harness.broker.snapshot(queue: "default", executingRows: 0).counts[.executing] == 3
            }
        )
        #expect(gate.arrived.count == 3)
        gate.open()
        for id in ids { #expect(try await harness.reaches(.finished, id)) }
        try await harness.stop()
    }

    @Test("A worker drains thousands of untracked operations", arguments: [1, 10, 100])
    func drainsMany(slots: Int) async throws {
        let harness = Harness(configuration: .quick(slots: slots, burst: .ready))
        let envelope = OperationEnvelope(name: "noop").encoded()
        for _ in 0..<10 {
            let operations = (0..<500).map { _ in NewOperation(tracked: false, envelope: envelope) }
            _ = try await harness.broker.enqueue(operations, queue: "default")
        }
        harness.start()
        try await harness.ended()
        let snapshot = try await harness.broker.snapshot(queue: "default", executingRows: 0)
        // If the machine is frozen for a while, operations that were claimed ahead go back unstarted.
        let started = try #require(snapshot.totals["started"]) - (snapshot.totals["returned"] ?? 0)
        #expect(snapshot.totals["finished"] == 5000 && started == 5000)
        #expect(snapshot.counts[.executing] == 0)
    }
}
