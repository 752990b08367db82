import Operations
import RedisBroker
import RedisClient
import BrokerModel
import TestSupport
import Testing

/// Redis at `maxmemory` with `noeviction` refuses new work, but all existing operations can run and end.
@Suite(.timeLimit(.minutes(60)))
struct FullRedisTests {
    @Test("At maxmemory, an enqueue is refused with a separate code, and the backlog drains")
    func backlogDrains() async throws {
        try await withFullRedis { full in
            await #expect { try await full.enqueue(1) } throws: { ($0 as? OperationsError)?.code == .full }
            var claimed = try await full.claim(3)
            #expect(claimed.map(\.header.tracked) == [true, true, true])
            try full.beat()
            for operation in claimed {
                #expect(try await full.complete(operation) == .done(.finished))
            }
            claimed = try await full.claim(100)
            #expect(claimed.count == 17)
            for operation in claimed {
                #expect(try await full.complete(operation) == .done(.finished))
            }
            #expect(try await full.claim(1).isEmpty)
        }
    }

    @Test("At maxmemory, operations fail, are given back, cancelled, swept and reported on")
    func otherEnds() async throws {
        try await withFullRedis { full in
            let claimed = try await full.claim(8)
            let outcomes = try await full.broker.fail(
                [
                    full.failure(claimed[0], .retry(afterMilliseconds: 1000)), full.failure(claimed[1], .dead),
                    full.failure(claimed[2], .cancelled),
                ],
                worker: full.worker,
                queue: full.queue
            )
            #expect(outcomes == [.done(.retrying), .done(.dead), .done(.cancelled)])
            let returns = [
                Return(fence: claimed[3].fence, id: claimed[3].id),
                Return(fence: claimed[4].fence, id: claimed[4].id, place: .later(milliseconds: 1000)),
            ]
            let returned = try await full.broker.giveBack(returns, worker: full.worker, queue: full.queue)
            #expect(returned == [.done(.ready), .done(.scheduled)])
            let report = Report(fence: claimed[5].fence, id: claimed[5].id, content: .log(line: [1]))
            #expect(try await full.broker.report([report], number: 1, worker: full.worker, queue: full.queue) == [true])
            let effect = EffectResult(fence: claimed[5].fence, id: claimed[5].id, label: "charge", result: [49])
            #expect(try await full.broker.remember(effect, worker: full.worker, queue: full.queue) == .stored)
            let request = CancelRequest(reason: "full", by: "tester")
            let cancels = try await full.broker.cancel(
                [claimed[3].id, claimed[5].id],
                request: request,
                queue: full.queue
            )
            #expect(cancels == [.cancelled, .requested(worker: full.worker.description)])
            let reply = try await full.broker.reconcile(known: [], worker: full.worker, epoch: 1, queue: full.queue)
            #expect(!reply.found.isEmpty)
            let counts = try await full.broker.cancelQueue(full.queue, request: request)
            #expect(counts.executing == reply.found.count)
            try await full.broker.setPaused(.pause(forMilliseconds: 1000, by: "tester"), queue: full.queue)
        }
    }

    @Test("At maxmemory, an idle worker receives the only waiting operation", arguments: [true, false])
    func onlyOne(tracked: Bool) async throws {
        try await withFullRedis { full in
            try full.limit("0")
            for operation in try await full.claim(100) { _ = try await full.complete(operation) }
            try await full.enqueue(1, tracked: tracked)
            try full.limit("1mb")
            await #expect(throws: OperationsError.self) { try await full.enqueue(1) }
            let request = ClaimRequest(worker: full.worker, epoch: 1, capacity: 2, onlyIfIdle: true)
            let operations = try await full.broker.claim(request, queue: full.queue).operations
            #expect(operations.map(\.header.tracked) == [tracked])
            for operation in operations { #expect(try await full.complete(operation) == .done(.finished)) }
        }
    }

    @Test("At maxmemory, the operations of a lost worker are recovered")
    func recovery() async throws {
        try await withFullRedis { full in
            #expect(try await full.claim(5).count == 5)
            // Redis must accept a write here, because the clock of the test is a key.
            try full.limit("0")
            for _ in 1...17 {
                try await full.clocked.advance(by: .seconds(1))
                try full.beat(WorkerID("survivor"))
            }
            try full.limit("1mb")
            #expect(try await full.broker.sweep(queue: full.queue) == SweepReply(recovered: 5))
        }
    }
}

/// A broker on a server that has just become full, with 10 tracked and 10 untracked waiting operations.
private struct FullRedis {
    let server: TestServer
    let clocked: ClockedBroker
    let queue = "full"
    let worker = WorkerID("worker")
    var broker: RedisBroker { clocked.redis }

    func limit(_ maxmemory: String) throws {
        try server.ask(RedisCommand("CONFIG", "SET", "maxmemory", maxmemory))[0].expectSuccess()
    }

    func enqueue(_ count: Int, tracked: Bool = true) async throws {
        let operations = (0..<count).map { _ in NewOperation(tracked: tracked, envelope: Array(#"{"name":"n"}"#.utf8)) }
        _ = try await broker.enqueue(operations, queue: queue)
    }

    @discardableResult
    func beat(_ worker: WorkerID? = nil) throws -> BeatReply {
        let beat = Beat(
            worker: worker ?? self.worker,
            epoch: 0,
            leaseMilliseconds: 15_000,
            intervalMilliseconds: 5000,
            info: []
        )
        return try broker.beat(beat, queue: queue)
    }

    func claim(_ capacity: Int) async throws -> [ClaimedOperation] {
        let request = ClaimRequest(worker: worker, epoch: 1, capacity: capacity)
        return try await broker.claim(request, queue: queue).operations
    }

    func complete(_ operation: ClaimedOperation) async throws -> SettleOutcome {
        let completion = Completion(
            fence: operation.fence,
            id: operation.id,
            tracked: operation.header.tracked,
            result: Array("1".utf8)
        )
        return try await broker.complete(
            [completion],
            isRepeat: false,
            worker: worker,
            thenClaim: nil,
            queue: queue
        ).outcomes[0]
    }

    func failure(_ operation: ClaimedOperation, _ disposition: Failure.Disposition) -> Failure {
        Failure(fence: operation.fence, id: operation.id, disposition: disposition, error: Array("{}".utf8))
    }
}

private func withFullRedis(_ body: (FullRedis) async throws -> Void) async throws {
    let server = try TestServer.start()
    defer { server.stop() }
    let clocked = try await ClockedBroker(queue: "full", endpoint: server.endpoint)
    defer { clocked.close() }
    let full = FullRedis(server: server, clocked: clocked)
    try full.beat()
    try full.beat(WorkerID("survivor"))
    try await full.enqueue(10)
    try await full.enqueue(10, tracked: false)
    try full.limit("1mb")
    let used = try server.info("used_memory").flatMap { Int($0) } ?? 0
    try #require(used > 1 << 20, "the server is not full")
    try await body(full)
}
