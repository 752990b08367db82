import Foundation
import Operations
import Synchronization
import TestSupport
import Testing

@testable import BrokerModel
@testable import WorkerRuntime

/// Operations with a slot share executor tasks.
@Suite("Executor tasks", .timeLimit(.minutes(60)))
struct ExecutorTaskTests {
    private let now = ContinuousClock.now

    private func operation(_ fence: Int64) -> HeldOperation {
        let header = OperationHeader(id: OperationID())
        return HeldOperation(ClaimedOperation(fence: fence, header: header, envelope: []), queue: 0, context: .none)
    }

    @Test("Executor tasks are made while operations wait: at least one, and as many as are busy")
    func onTheirWay() {
        var line = StartLine()
        var called: [Int] = [line.callTasks()]
        for fence in 1...8 as ClosedRange<Int64> { line.append(operation(fence)) }
        called += [line.callTasks(), line.callTasks()]
        var first: [Int64?] = []
        for _ in 0..<3 {
            first.append(line.popForNewTask()?.fence)
            called.append(line.callTasks())
        }
        #expect(called == [0, 1, 0, 1, 2, 2])
        #expect(first == [1, 2, 3])
        // One executor task continues and one ends. With two busy and three coming, no other one is made.
        #expect(line.popForTask(mayGoOn: true)?.fence == 4)
        #expect(line.popForTask(mayGoOn: false) == nil)
        called = [line.callTasks()]
        // The other executor tasks take all operations before the last ones come.
        let others = (0..<4).map { _ in line.popForTask(mayGoOn: true)?.fence }
        let late = (0..<3).map { _ in line.popForNewTask()?.fence }
        called.append(line.callTasks())
        #expect(others == [5, 6, 7, 8] && late == [nil, nil, nil] && called == [0, 0])
    }

    @Test("Bodies that wait for each other each get an executor task")
    func waitsForAnother() async throws {
        let gate = Gate()
        let count = 64
        let meeting = OperationHandler(name: "meet") { _, context in
            try await gate.pass(context)
            return []
        }
        let harness = Harness(configuration: .quick(slots: count), handlers: [meeting])
        harness.start()
        for _ in 0..<count { try await harness.broker.put("meet") }
        #expect(await comesTrue { gate.arrived.count == count })
        gate.open()
        try await harness.stop()
    }

    @Test("An executor task takes the next waiting operation, and ends when its time is over or it may not continue")
    func goesOn() async throws {
        let core = WorkerCore(
            broker: InMemoryBroker(),
            registry: OperationRegistry(),
            configuration: .quick(slots: 8),
            logger: LogRecorder().logger()
        )
        let operations = (1...4 as ClosedRange<Int64>).map(operation)
        let first = core.queue.withLock { queue -> HeldOperation? in
            queue.add(QueueShare("default"))
            queue.members[0].lease.hold(until: now + .seconds(60))
            queue.members[0].supply.runDry()
            queue.take(operations, 0)
            queue.fill(now)
            // No executor task is made, so the operations stay in the line.
            _ = queue.line.callTasks()
            return queue.line.popForTask(mayGoOn: true)
        }
        func next(after operation: HeldOperation?, until: ContinuousClock.Instant?) throws -> HeldOperation? {
            try core.end(
                #require(operation),
                .finished(result: []),
                reportsAreBusy: false,
                startedAt: now,
                taskMayRunUntil: until
            )?.operation
        }
        let second = try next(after: first, until: .now + .seconds(60))
        #expect(second?.fence == 2)
        #expect(try next(after: second, until: now) == nil)
        let third = core.queue.withLock { $0.line.popForTask(mayGoOn: true) }
        #expect(third?.fence == 3)
        #expect(try next(after: third, until: nil) == nil)
        #expect(core.queue.withLock { $0.line.popForTask(mayGoOn: true)?.fence } == 4)
    }

    @Test("Bodies that suspend start fast even if many other tasks compete for threads")
    func comeFast() async throws {
        let (others, count) = (16 * ProcessInfo.processInfo.activeProcessorCount, 200)
        let gate = Gate()
        let started = Atomic(0)
        // The turns of one busy body, which gets one turn in each round of all busy bodies
        let passes = Atomic(0)
        // The turns at which the meeting bodies started, in order
        let starts = Mutex<[Int]>([])
        let busy = OperationHandler(name: "busy") { _, _ in
            let isCounted = started.wrappingAdd(1, ordering: .relaxed).newValue == 1
            while !gate.isOpen {
                if isCounted { passes.wrappingAdd(1, ordering: .relaxed) }
                await Task.yield()
            }
            return []
        }
        let meeting = OperationHandler(name: "meet") { _, context in
            starts.withLock { $0.append(passes.load(ordering: .relaxed)) }
            try await gate.pass(context)
            return []
        }
        let harness = Harness(configuration: .quick(slots: others + count), handlers: [busy, meeting])
        harness.start()
        for _ in 0..<others { try await harness.broker.put("busy") }
        #expect(await comesTrue { started.load(ordering: .relaxed) == others })
        let operations = (0..<count).map { _ in
            NewOperation(
                tracked: false,
                envelope: OperationEnvelope(name: "meet", arguments: Array("{}".utf8)).encoded()
            )
        }
        _ = try await harness.broker.enqueue(operations, queue: "default")
        #expect(await comesTrue { gate.arrived.count == count })
        gate.open()
        try await harness.stop()
        let turns = starts.withLock { $0 }
        #expect(turns.count == count)
        // Started one at a time, each body would wait for half a round of the busy bodies or for a whole one. The
        // longest tenth of the pauses does not count: the system may take the thread of a body away for many rounds.
        let pauses = zip(turns, turns.dropFirst()).map { $1 - $0 }.sorted()
        #expect(pauses.dropLast(count / 10).reduce(0, +) < count / 4)
    }

    /// The number of ended bodies, and the number that another task has seen
    private final class Progress: Sendable {
        let ended = Atomic(0)
        let seen = Mutex<Int?>(nil)

        func lookFromAnotherTask() {
            Task(priority: .medium) { seen.withLock { $0 = ended.load(ordering: .relaxed) } }
        }
    }

    @Test("Executor tasks let other tasks run while more operations wait than threads exist")
    func givesWay() async throws {
        let count = 1000
        let progress = Progress()
        let short = OperationHandler(name: "short") { _, _ in
            let until = ContinuousClock.now + .milliseconds(1)
            while ContinuousClock.now < until {}
            // By now every thread has an executor task.
            if progress.ended.wrappingAdd(1, ordering: .relaxed).newValue == 100 { progress.lookFromAnotherTask() }
            return []
        }
        let broker = InMemoryBroker()
        for _ in 0..<count { try await broker.put("short") }
        let harness = Harness(broker: broker, configuration: .quick(slots: count), handlers: [short])
        harness.start()
        #expect(await comesTrue { progress.ended.load(ordering: .relaxed) == count })
        #expect(await comesTrue { progress.seen.withLock { $0 != nil } })
        try await harness.stop()
        #expect(try #require(progress.seen.withLock { $0 }) < 800)
    }
}
