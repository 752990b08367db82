import Logging
import Operations
import RedisClient
import BrokerModel
import Synchronization
import TestSupport
import Testing

@testable import RedisBroker

@Suite("Small enqueues of many tasks", .timeLimit(.minutes(60)))
struct CommitBatchTests {
    private static let envelope = Array(#"{"name":"mail"}"#.utf8)

    @Test("share calls, and each task gets the answers about its own operations")
    func shared() async throws {
        let server = try TestServer.start()
        let broker = RedisBroker(server.endpoint, configuration: .patient(), logger: silent)
        defer { broker.close() }
        // Every third operation exists already.
        let operations = (0..<64).map { _ in (0..<30).map { _ in NewOperation(envelope: Self.envelope) } }
        let known = operations.flatMap { $0.enumerated().filter { $0.offset % 3 == 0 }.map(\.element) }
        _ = try await broker.enqueueAll(known, queue: "mail") { _ in }
        _ = try server.ask(RedisCommand("CONFIG", "RESETSTAT"))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for own in operations {
                group.addTask {
                    for (index, operation) in own.enumerated() {
                        let outcomes = try await broker.enqueue([operation], queue: "mail")
                        #expect(outcomes == [index % 3 == 0 ? .exists : .created])
                    }
                }
            }
            try await group.waitForAll()
        }
        let statistics = try server.info("cmdstat_evalsha") ?? ""
        let calls = try #require(statistics.firstMatch(of: /calls=(\d+)/)).1
        print("64 tasks, 1920 enqueues, \(calls) calls")
        #expect((Int(calls) ?? .max) < 64 * 30 / 2)
        #expect(try await broker.snapshot(queue: "mail", executingRows: 0).counts[.ready] == 64 * 30)
    }

    @Test("that Redis refuses fail only for their own task")
    func refused() async throws {
        try await withProxy { _, broker in
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for number in 0..<60 {
                    group.addTask {
                        // No script accepts an envelope that continues the id.
                        let envelope = number % 20 == 7 ? Array("ABC".utf8) : Self.envelope
                        let pair = [NewOperation(envelope: Self.envelope), NewOperation(envelope: envelope)]
                        do {
                            let outcomes = try await broker.redis.enqueue(pair, queue: "mail")
                            return outcomes == [.created, .created] && number % 20 != 7
                        } catch let error as OperationsError {
                            return error.code == .refused && number % 20 == 7
                        }
                    }
                }
                for try await isRight in group { #expect(isRight, "each task gets its own answers") }
            }
            #expect(try await broker.redis.snapshot(queue: "mail", executingRows: 0).counts[.ready] == 2 * 57)
        }
    }

    @Test("whose answer is lost are repeated together and happen once")
    func lost() async throws {
        try await withProxy { proxy, broker in
            proxy.set(.loseReplies(count: 4, marker: #""mail""#))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<50 {
                    group.addTask {
                        let operation = NewOperation(tracked: number % 2 == 0, envelope: Self.envelope)
                        let outcomes = try await broker.redis.enqueue([operation], queue: "mail")
                        #expect(outcomes == [.created])
                    }
                }
                try await group.waitForAll()
            }
            #expect(proxy.lostReplies == 4)
            #expect(try await broker.redis.snapshot(queue: "mail", executingRows: 0).counts[.ready] == 50)
        }
    }

    @Test("continue if one of them is cancelled before it is sent")
    func cancelled() async throws {
        let commits = CommitBatch(patience: .seconds(5))
        let sent = Mutex<[OperationID]>([])
        let isOpen = Atomic<Bool>(false)
        let call: CommitBatch.Call = { operations, _ in
            sent.withLock { $0 += operations.map(\.id) }
            try await eventually("it is answered") { isOpen.load(ordering: .acquiring) }
            return operations.map { _ in .created }
        }
        let operations = (0..<12).map { _ in NewOperation(envelope: Self.envelope) }
        var callers: [Task<[EnqueueOutcome], any Error>] = []
        // Without answers, at most eight calls are in flight, so that four wait.
        for operation in operations {
            callers.append(Task { try await commits.enqueue([operation], queue: "mail", call: call) })
            if callers.count <= 8 {
                try await eventually("it is under way") { sent.withLock { $0.contains(operation.id) } }
            }
        }
        try await eventually("four wait") { commits.waiting("mail") == 4 }
        callers[9].cancel()
        await #expect(throws: CancellationError.self) { _ = try await callers[9].value }
        isOpen.store(true, ordering: .releasing)
        for (index, caller) in callers.enumerated() where index != 9 {
            let outcomes = try await caller.value
            #expect(outcomes == [.created])
        }
        #expect(sent.withLock { Set($0) } == Set(operations.map(\.id)).subtracting([operations[9].id]))
    }

    @Test("fail together if the server is away, as each one would alone")
    func away() async throws {
        let commits = CommitBatch(patience: .zero)
        let calls = Atomic<Int>(0)
        let isOpen = Atomic<Bool>(false)
        let call: CommitBatch.Call = { _, _ in
            calls.add(1, ordering: .relaxed)
            try await eventually("it is answered") { isOpen.load(ordering: .acquiring) }
            throw OperationsError(.unavailable, "away")
        }
        let callers = (0..<200).map { _ in
            Task { try await commits.enqueue([NewOperation(envelope: Self.envelope)], queue: "mail", call: call) }
        }
        try await eventually("as many as may are under way") { calls.load(ordering: .relaxed) == 8 }
        isOpen.store(true, ordering: .releasing)
        for caller in callers {
            await #expect {
                _ = try await caller.value
            } throws: {
                ($0 as? OperationsError)?.code == .unavailable
            }
        }
    }

    @Test("are not repeated forever after their tasks stop waiting")
    func givenUp() async throws {
        try await withProxy { proxy, broker in
            proxy.set(.loseReplies(count: .max, marker: #""mail""#))
            let callers = (0..<40).map { _ in
                Task { try await broker.redis.enqueue([NewOperation(envelope: Self.envelope)], queue: "mail") }
            }
            try await eventually("replies are lost") { proxy.lostReplies >= 3 }
            let start = ContinuousClock.now
            callers.forEach { $0.cancel() }
            for caller in callers {
                await #expect {
                    _ = try await caller.value
                } throws: {
                    // Operations that still waited were not sent.
                    ($0 as? OperationsError)?.code == .outcomeUnknown || $0 is CancellationError
                }
            }
            expectPrompt("given up", since: start, promised: .seconds(1))
        }
    }

    private let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    private func withProxy(_ body: (FaultProxy, ClockedBroker) async throws -> Void) async throws {
        let proxy = try await FaultProxy.start(to: TestServer.shared.endpoint)
        defer { proxy.stop() }
        let broker = try await ClockedBroker(queue: "mail", endpoint: proxy.endpoint)
        defer { broker.close() }
        try await body(proxy, broker)
    }
}
