import Operations
import Synchronization
import TestSupport
import Testing

@testable import BrokerModel
@testable import WorkerRuntime

@Suite("A stuck operation", .timeLimit(.minutes(60)))
struct StuckTests {
    private func stubborn(_ gate: Gate, policy: StuckPolicy = .free) -> Harness<InMemoryBroker> {
        var configuration = WorkerConfiguration.quick(slots: 1, grace: .milliseconds(50))
        configuration.stuck = policy
        return Harness(configuration: configuration, handlers: [holding(gate, isDeaf: true)])
    }

    @Test(
        "At its run timeout a stuck operation is dead after the grace without a retry, and its slot is free"
    )
    func timeLimit() async throws {
        let gate = Gate()
        let harness = stubborn(gate)
        harness.start()
        let id = try await harness.broker.put("hold", runTimeout: .milliseconds(50))
        #expect(try await harness.reaches(.dead, id))
        let error = try await harness.error(id)
        #expect(error?.type == "stuck" && error?.verdict == .final && error?.attempt == 1)
        let next = try await harness.broker.put("noop")
        #expect(try await harness.reaches(.finished, next))
        #expect(!gate.isOpen && harness.worker.core.info().stuck == 1)
        gate.open()
        // Logged after the count has changed.
        #expect(await comesTrue { harness.log.messages.contains { $0.hasPrefix("info a stuck body has returned") } })
        #expect(harness.worker.core.info().stuck == 0)
        #expect(try await harness.state(id) == .dead)
        #expect(harness.worker.core.info().finished == 1)
        try await harness.stop()
    }

    @Test("A stuck operation ends as cancelled after a cancel")
    func cancelled() async throws {
        let gate = Gate()
        let harness = stubborn(gate)
        harness.start()
        let id = try await harness.broker.put("hold")
        #expect(await comesTrue { gate.arrived == [id] })
        _ = try await harness.cancel(id)
        #expect(try await harness.reaches(.cancelled, id))
        #expect(try await harness.error(id)?.type == "stuck")
        #expect(try await harness.detail(id)?.cancel?.stoppedAt != nil)
        gate.open()
        try await harness.stop()
    }

    @Test("A stuck operation has no fence, and its reports are dropped")
    func writes() async throws {
        let gate = Gate()
        let refused = Mutex<Bool?>(nil)
        let harness = Harness(
            configuration: .quick(slots: 1, grace: .milliseconds(50)),
            handlers: [
                OperationHandler(name: "hold") { _, context in
                    context.log("before")
                    try await gate.pass(context, isDeaf: true)
                    context.log("after")
                    let fence = try? context.fence
                    refused.withLock { $0 = fence == nil }
                    return []
                }
            ]
        )
        harness.start()
        let id = try await harness.broker.put("hold")
        // The cancel comes after the first line: a line that comes after the grace is dropped.
        #expect(await comesTrue { gate.arrived == [id] })
        _ = try await harness.cancel(id)
        #expect(try await harness.reaches(.cancelled, id))
        gate.open()
        #expect(await comesTrue { refused.withLock { $0 } == true })
        #expect(await comesTrue { harness.worker.core.info().stuck == 0 })
        #expect(try await harness.lines(id) == ["before"])
        try await harness.stop()
    }

    @Test("The end hook of a stuck operation runs once, with dead")
    func told() async throws {
        let gate = Gate()
        let told = Mutex<[OperationState]>([])
        var handler = holding(gate, isDeaf: true)
        handler.onEnd = { ending, _, _ in told.withLock { $0.append(ending.state) } }
        let harness = Harness(configuration: .quick(slots: 1, grace: .milliseconds(50)), handlers: [handler])
        harness.start()
        _ = try await harness.broker.put("hold", runTimeout: .milliseconds(50))
        #expect(await comesTrue { told.withLock { $0 } == [.dead] })
        gate.open()
        #expect(await comesTrue { harness.worker.core.info().stuck == 0 })
        #expect(told.withLock { $0 } == [.dead])
        try await harness.stop()
    }

    @Test("With the policy replace, a stuck operation ends its worker once the others have ended")
    func replaced() async throws {
        let (gate, other) = (Gate(), Gate())
        var configuration = WorkerConfiguration.quick(slots: 2, drain: .seconds(30), grace: .milliseconds(50))
        configuration.stuck = .replace
        let harness = Harness(
            configuration: configuration,
            handlers: [
                holding(gate, isDeaf: true),
                OperationHandler(name: "other") { _, context in
                    try await other.pass(context)
                    return []
                },
            ]
        )
        harness.start()
        let good = try await harness.broker.put("other")
        #expect(await comesTrue { other.arrived == [good] })
        let id = try await harness.broker.put("hold", runTimeout: .milliseconds(50))
        #expect(try await harness.reaches(.dead, id))
        #expect(await comesTrue { harness.worker.needsReplacement })
        other.open()
        try await harness.ended()
        #expect(try await harness.state(good) == .finished)
        gate.open()
    }

    @Test("Each change of the blocking threads is logged once: replaced, none left, free")
    func threads() {
        let harness = stubborn(Gate())
        for (stuck, waiting) in [(0, 3), (1, 0), (64, 0), (65, 2), (70, 9), (64, 0), (0, 0), (0, 1)] {
            harness.worker.core.checkBlockingThreads(
                BlockingThreads.Status(threads: 128, waiting: waiting, stuck: stuck, replacements: 64)
            )
        }
        let messages = harness.log.messages.filter { $0.contains("blocking") }
        #expect(messages.map { $0.prefix { $0 != " " } } == ["warning", "error", "warning", "notice"])
        #expect(messages[1].contains("--stuck replace"))
    }

    @Test("A stuck operation does not delay a worker that stops")
    func stopping() async throws {
        let gate = Gate()
        let harness = stubborn(gate, policy: .replace)
        harness.start()
        let id = try await harness.broker.put("hold")
        #expect(await comesTrue { gate.arrived == [id] })
        // The stop comes first: an operation that is stuck before makes its worker ask for a replacement.
        harness.worker.stop()
        _ = try await harness.cancel(id)
        try await harness.ended()
        #expect(try await harness.state(id) == .cancelled)
        #expect(!harness.worker.needsReplacement)
        gate.open()
    }
}
