import Operations
import Synchronization
import TestSupport
import Testing

@testable import BrokerModel
@testable import WorkerRuntime

@Suite("Several queues", .timeLimit(.minutes(60)))
struct SharingTests {
    private typealias Instant = ContinuousClock.Instant

    private func queue(_ shares: String, slots: Int) throws -> LocalQueue {
        var queue = LocalQueue(slots: slots)
        guard case .named(let shares) = try QueueSelection(parsing: shares) else { return queue }
        for share in shares { queue.add(share) }
        for index in queue.members.indices { queue.members[index].lease.hold(until: .now + .seconds(60)) }
        return queue
    }

    /// Returns queues that each hold `count` very short operations.
    private func queue(_ shares: String, slots: Int, claimedAhead count: Int64) throws -> LocalQueue {
        var queue = try queue(shares, slots: slots)
        for index in queue.members.indices {
            for _ in 0..<16 { queue.members[index].pace.note(.microseconds(10)) }
            queue.take(claimed(count), index, context: .none)
        }
        return queue
    }

    private func claimed(_ count: Int64) -> [ClaimedOperation] {
        (1...count).map { ClaimedOperation(fence: $0, header: OperationHeader(id: OperationID()), envelope: []) }
    }

    @Test("Queues get free slots in turn, by weight")
    func weights() throws {
        var queue = try queue("a:3,b", slots: 8)
        _ = queue.distribute(.now)
        #expect(queue.slots.parts.map(\.reserved) == [6, 2])
    }

    @Test("A queue without work leaves its slots to the others")
    func noWork() throws {
        var queue = try queue("a:3,b", slots: 8)
        queue.members[0].supply.runDry()
        _ = queue.distribute(.now)
        #expect(queue.slots.parts.map(\.reserved) == [0, 8])
    }

    @Test("A queue with reserved slots keeps them and also takes free ones")
    func reserved() throws {
        var queue = try queue("a=3,b", slots: 8)
        queue.members[0].supply.runDry()
        _ = queue.distribute(.now)
        #expect(queue.slots.parts.map(\.reserved) == [0, 5])
        queue.members[0].supply.expectWork()
        _ = queue.distribute(.now)
        #expect(queue.slots.parts.map(\.reserved) == [3, 5])
    }

    @Test("A queue gets its part of the slots beside one that claimed ahead; with one slot it gets a turn")
    func claimedAhead() throws {
        let now = Instant.now
        for (slots, after) in [(10, Duration.zero), (1, .milliseconds(99)), (1, .milliseconds(100))] {
            var queue = try queue("short,long", slots: slots)
            queue.members[1].supply.runDry()
            queue.take(claimed(1000), 0, context: .none)
            var running = queue.runAll(now)
            #expect(running.count == slots)
            queue.members[1].supply.expectWork()
            queue.share.claims(1, now)
            for _ in 0..<500 where !running.isEmpty {
                queue.end(running.removeFirst(), .finished(result: []), ranFor: .microseconds(10), .now)
                queue.fill(now + after)
                running += queue.takeLine()
            }
            #expect(queue.slots.parts[1].reserved == (slots == 10 ? 5 : after == .milliseconds(100) ? 1 : 0))
        }
    }

    @Test("A queue of very short operations gets turns beside more long ones than slots")
    func shortBesideMany() throws {
        var queue = try queue("short,one,two,three", slots: 1)
        for _ in 0..<16 { queue.members[0].pace.note(.microseconds(10)) }
        queue.take(claimed(1000), 0, context: .none)
        var now = Instant.now
        var turns = [0, 0, 0, 0]
        for _ in 0..<640 {
            queue.fill(now)
            let started = queue.takeLine()
            for operation in started {
                turns[0] += 1
                queue.end(operation, .finished(result: []), ranFor: .microseconds(10), .now)
            }
            // Each long operation takes 150 ms.
            for index in 1...3 where queue.slots.parts[index].reserved > 0 {
                turns[index] += 1
                queue.slots.revoke(index)
                now = now + .milliseconds(150)
            }
        }
        #expect(turns[0] >= 500 && turns.dropFirst().allSatisfy { $0 >= 5 })
    }

    @Test("Very short operations start by the weights of their queues")
    func weightsOfShort() throws {
        let now = Instant.now
        var queue = try queue("a:3,b", slots: 10, claimedAhead: 2000)
        var running = queue.runAll(now)
        var started = [0, 0]
        for _ in 0..<1330 {
            let operation = running.removeFirst()
            started[operation.queue] += 1
            queue.end(operation, .finished(result: []), ranFor: .microseconds(10), .now)
            queue.fill(now)
            running += queue.takeLine()
        }
        #expect(started == [1000, 330])
    }

    @Test("A queue gives back operations claimed ahead if none of its own starts, whatever other queues do")
    func stallOfOne() throws {
        let now = Instant.now
        var queue = try queue("a,b=1", slots: 2)
        queue.members[1].supply.runDry()
        queue.take(claimed(3), 0, context: .none)
        #expect(queue.runAll(now).map(\.fence) == [1])
        let later = now + .milliseconds(29_950)
        queue.take(claimed(3), 1, context: .none)
        #expect(queue.runAll(later).map(\.queue) == [1])
        #expect(queue.nextAlarm(later) == now + FairShare.longStall)
        queue.alarm(now + FairShare.longStall)
        #expect(queue.members[0].outbox.ended.map(\.operation.fence) == [2, 3])
        #expect(queue.members[1].outbox.isEmpty)
    }

    @Test("Very short operations take turns of a hundred, so many of one queue end together")
    func streaks() throws {
        let now = Instant.now
        var queue = try queue("a,b", slots: 2, claimedAhead: 250)
        var order: [Int] = []
        var running = queue.runAll(now)
        while !running.isEmpty {
            order.append(running[0].queue)
            queue.end(running.removeFirst(), .finished(result: []), ranFor: .microseconds(10), .now)
            queue.fill(now)
            running += queue.takeLine()
        }
        let lengths = order.reduce(into: [(queue: Int, count: Int)]()) { lengths, queue in
            if lengths.last?.queue == queue {
                lengths[lengths.count - 1].count += 1
            } else {
                lengths.append((queue, 1))
            }
        }
        #expect(lengths.map(\.queue) == [0, 1, 0, 1, 0, 1])
        #expect(lengths.map(\.count) == [100, 100, 100, 100, 50, 50])
    }

    @Test("A claimed operation starts in its claimed slot, although another queue never had a turn")
    func claimedSlot() throws {
        let now = Instant.now
        var queue = try queue("first,second", slots: 1)
        queue.fill(now)
        guard case .exchange(let exchange) = queue.nextStep(0, now) else {
            Issue.record("nothing is claimed")
            return
        }
        let operation = ClaimedOperation(fence: 1, header: OperationHeader(id: OperationID()), envelope: [])
        queue.finish(exchange, 0)
        queue.accept(Claim(status: .ok, operations: [operation], more: true), 0, of: exchange, context: .none, now)
        queue.fill(now)
        #expect(queue.takeLine().map(\.fence) == [1])
        #expect(queue.slots.parts[1].reserved == 0)
    }

    @Test("Queues are parsed as on the command line")
    func parsing() throws {
        #expect(
            try QueueSelection(parsing: "mail:3,default,video=8,a:2=4")
                == .named([
                    QueueShare("mail", weight: 3), "default", QueueShare("video", reservedSlots: 8),
                    QueueShare("a", weight: 2, reservedSlots: 4),
                ])
        )
        #expect(try QueueSelection(parsing: "*") == .all)
        for wrong in ["", "a,", "a:0", "a=x", "a:1001", "a b", "a::2", "{a}", "a=1:2"] {
            #expect(throws: (any Error).self, "\(wrong)") { try QueueSelection(parsing: wrong) }
        }
    }

    @Test("All queues are served in proportion to their weights while they have work")
    func proportions() async throws {
        let order = Mutex<[String]>([])
        let harness = Harness(
            configuration: .quick("heavy:3,light", slots: 1),
            handlers: [
                OperationHandler(name: "note") { _, context in
                    order.withLock { $0.append(context.queue) }
                    // Long enough that nothing is claimed ahead
                    await takeTime(.milliseconds(2))
                    return []
                }
            ]
        )
        for queue in ["heavy", "light"] {
            for _ in 0..<40 { try await harness.broker.put("note", queue: queue) }
        }
        harness.start()
        #expect(await comesTrue { order.withLock { $0.count } == 80 })
        let firstForty = order.withLock { Array($0.prefix(40)) }
        #expect((26...34).contains(firstForty.count { $0 == "heavy" }))
        try await harness.stop()
    }

    @Test("A worker for all queues of the namespace also finds a new one")
    func all() async throws {
        let harness = Harness(configuration: .quick("*", lease: .seconds(1)))
        let first = try await harness.broker.put("noop", queue: "one")
        harness.start()
        #expect(try await harness.reaches(.finished, first, queue: "one"))
        let second = try await harness.broker.put("noop", queue: "two")
        #expect(try await harness.reaches(.finished, second, queue: "two"))
        try await harness.stop()
    }
}

@Suite("Reports of an operation", .timeLimit(.minutes(60)))
struct ReportTests {
    @Test("All reports arrive before the end: the last progress and every log line in order")
    func before() async throws {
        let harness = Harness(handlers: [
            OperationHandler(name: "talk") { _, context in
                for line in 1...100 {
                    context.log("line \(line)")
                    context.progress(Double(line) / 100, "at \(line)")
                }
                return []
            }
        ])
        harness.start()
        let id = try await harness.broker.put("talk")
        #expect(try await harness.broker.awaitEnd(of: [id], queue: "default", timeout: patience) == [.finished])
        // The test does not wait here: reports arrive before the end.
        let lines = try await harness.broker.log(id, queue: "default", from: 0, limit: 200).lines
        #expect(lines.map { String(decoding: $0.text, as: UTF8.self) } == (1...100).map { "line \($0)" })
        #expect(try await harness.detail(id)?.progress?.message == "at 100")
        try await harness.stop()
    }

    @Test("Reports are sent at most every 250 ms while the body runs")
    func rhythm() async throws {
        let counter = ReportCounter(InMemoryBroker())
        let harness = Harness(
            broker: counter.base,
            connection: { _ in counter },
            handlers: [
                OperationHandler(name: "talk") { _, context in
                    context.progress(0)
                    // Each sent report is followed by new ones.
                    for await count in counter.reports where count <= 4 {
                        for _ in 0..<100 { context.progress(.random(in: 0...1)) }
                        if count == 4 { break }
                    }
                    return []
                }
            ]
        )
        let id = try await harness.broker.put("talk")
        harness.start()
        #expect(try await harness.reaches(.finished, id))
        let times = counter.times.withLock { $0 }
        // The fifth call goes out at once, with the end.
        try #require(times.count == 5)
        #expect(times[3] - times[0] >= .milliseconds(750))
        try await harness.stop()
    }

    @Test(
        "An operation's log has its logger's lines if the worker is configured so; the worker's log always has them",
        arguments: [false, true]
    )
    func logger(isStored: Bool) async throws {
        var configuration = WorkerConfiguration.quick()
        configuration.operationLogLevel = isStored ? .notice : nil
        let talk = OperationHandler(name: "talk") { _, context in
            context.logger.info("quiet")
            context.logger.warning("loud", metadata: ["size": "3"])
            return []
        }
        let harness = Harness(configuration: configuration, handlers: [talk])
        harness.start()
        let id = try await harness.broker.put("talk")
        #expect(try await harness.reaches(.finished, id))
        #expect(try await harness.lines(id) == (isStored ? ["warning loud size=3"] : []))
        let whole =
            "warning loud attempt=1 delivery=1 operation.id=\(id) operation.name=talk queue=default size=3 "
            + "worker=\(harness.worker.id)"
        #expect(harness.log.messages.contains(whole))
        try await harness.stop()
    }

    @Test("A report of one queue does not wait for another queue whose server is silent")
    func separately() async throws {
        let server = SilentServer(InMemoryBroker(), queue: "away")
        let harness = Harness(
            broker: server.base,
            connection: { _ in server },
            configuration: .quick("away,near"),
            handlers: [
                OperationHandler(name: "talk") { _, context in
                    context.progress(0.5)
                    return []
                }
            ]
        )
        let away = try await harness.broker.put("talk", queue: "away")
        harness.start()
        #expect(await comesTrue { server.isAsked.isOpen })
        let near = try await harness.broker.put("talk", queue: "near")
        #expect(try await harness.reaches(.finished, near, queue: "near"))
        #expect(try await harness.state(away, queue: "away") == .executing)
        server.answers.open()
        #expect(try await harness.reaches(.finished, away, queue: "away"))
        try await harness.stop()
    }
}

private final class ReportCounter: Forwarding {
    let base: InMemoryBroker
    let times = Mutex<[ContinuousClock.Instant]>([])
    /// The number of calls so far, after each call
    let reports: AsyncStream<Int>
    private let continuation: AsyncStream<Int>.Continuation

    init(_ base: InMemoryBroker) {
        self.base = base
        (reports, continuation) = AsyncStream.makeStream()
    }

    func report(_ reports: [Report], number: Int, worker: WorkerID, queue: String) async throws -> [Bool] {
        let count = times.withLock { times in
            times.append(.now)
            return times.count
        }
        defer { continuation.yield(count) }
        return try await base.report(reports, number: number, worker: worker, queue: queue)
    }
}

/// A broker that leaves the reports of one queue unanswered until `answers` opens.
private final class SilentServer: Forwarding {
    let base: InMemoryBroker
    let isAsked = Latch()
    let answers = Latch()
    private let queue: String

    init(_ base: InMemoryBroker, queue: String) { (self.base, self.queue) = (base, queue) }

    func report(_ reports: [Report], number: Int, worker: WorkerID, queue: String) async throws -> [Bool] {
        if queue == self.queue {
            isAsked.open()
            _ = await answers.wait(isDeaf: false)
        }
        return try await base.report(reports, number: number, worker: worker, queue: queue)
    }
}
